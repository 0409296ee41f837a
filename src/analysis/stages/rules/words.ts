import type { Rule } from "../rule.ts";

// Words of the function's own name, in order: what a kernel is named for comes before what it has beside it. `flat` has
// no separators (`rmsnorm` finds rms_norm and RMSNorm), `words` has (`_mla_` is not part of a longer word).

const BOOKKEEPING: readonly Rule[] = [
  {
    id: "word.repack",
    stage: "other",
    on: "flat",
    is: /repack|advancestep|buildtree|tensormap|metadatacopy|preparemetadata/,
    sure: 0.7,
  },
  {
    id: "word.rank-counts",
    stage: "moe_dispatch",
    on: "flat",
    is: /rankcount|rankindic|sendrecvrank|localtoglobal|moveindice|recvoffsets?/,
    also: ["moe_routing"],
    sure: 0.75,
  },
];

const COMM: readonly Rule[] = [
  { id: "word.moe-allreduce", stage: "comm", on: "flat", is: /moe\w*allreduce/, also: ["moe_combine"], sure: 0.8 },
  {
    id: "word.moe-alltoall-combine",
    stage: "moe_combine",
    on: "flat",
    is: /(?:moe|expert|^ep)\w*(?:a2a|all(?:to|2)all)\w*(?:combine|return)/,
    sure: 0.9,
  },
  {
    id: "word.moe-alltoall",
    stage: "moe_dispatch",
    on: "flat",
    is: /(?:moe|expert|^ep)\w*(?:a2a|all(?:to|2)all)/,
    also: ["moe_combine"],
    sure: 0.8,
  },
  {
    id: "word.allreduce-norm",
    stage: "comm",
    on: "flat",
    is: /allreduce\w*(?:norm|res|fusion)|(?:norm|res)\w*allreduce/,
    also: ["norm"],
    sure: 0.9,
  },
  {
    id: "word.collective",
    stage: "comm",
    on: "flat",
    is: /all?reduce(?!d)|reducescatter|allgather|all(?:to|2)all|crossdevice|multimem|(?:one|two)shot|sendrecv|p2p(?:send|recv|copy)|userbuffers|lamport|(?<!mo)a2a|ulysses/,
    not: /arg(?:al)?reduce/,
    sure: 0.9,
  },
  {
    id: "word.barrier",
    stage: "comm",
    on: "words",
    is: /_barrier_|_pp_(?:send|recv)_|_nvshmem/,
    also: ["moe_dispatch"],
    sure: 0.6,
  },
];

const LINEAR_ATTENTION: readonly Rule[] = [
  {
    id: "word.linear-attention",
    stage: "linear_attn",
    on: "flat",
    is: /gateddelta|deltarule|deltanet|chunk(?:scan|state|kda|gla|local|fwd|bwd|scaled|gated|delta|transform|cumsum|gdn)|selectivesca|selectivestate|causalconv|conv1d|mamba|statepassing|fusedrecurrent|kdagate|gdngat|rwkv|solvetril|recomputew|wyfast|shortconv|merge\d+x\d+to|linearattn|linearattention|lightningatt|retention/,
    sure: 0.9,
  },
  {
    id: "word.linear-attention-short",
    stage: "linear_attn",
    on: "words",
    is: /_(?:kda|gdn|gla|ssm|ssd|kkt|chunk)_/,
    sure: 0.75,
  },
];

const ROUTING: readonly Rule[] = [
  {
    id: "word.finalize",
    stage: "moe_combine",
    on: "flat",
    is: /finali[sz]e\w*(?:moe|rout|expert|scatter)|(?:moe|expert)\w*finali[sz]e/,
    sure: 0.9,
  },
  { id: "word.norm-gemm", stage: "gemm", on: "flat", is: /norm\w*gemm|gemm\w*norm/, also: ["norm"], sure: 0.75 },
  {
    id: "word.router",
    stage: "moe_routing",
    on: "flat",
    is: /rout(?:ing|er)(?!able)/,
    not: /permut|scatter|align/,
    also: ["gemm", "moe_dispatch"],
    sure: 0.9,
  },
  {
    id: "word.gate-top-k",
    stage: "moe_routing",
    on: "flat",
    is: /(?:moe|expert|topk|fused|group)\w*gat(?:e|ing)(?!d|up|_up)|gat(?:e|ing)topk|topk(?:soft|sigmoid|gat|with|group|idx)|fusedtopk|(?:softmax|sigmoid)topk|group(?:ed)?topk|moe\w*(?:topk|softmax|sigmoid)|hashtopk|deepseek\w*topk|bitmatrix|topkforward|expert(?:s)?(?:counts|hist)|appendshared|selectexpert|sharedexperts/,
    not: /silu|swiglu|gelu|gateup|delta|attn|attention|topktopp|mla|sampl|combine|align|sort|groupgemm|gatedact|norm/,
    sure: 0.85,
  },
];

const ACTIVATION: readonly Rule[] = [
  {
    id: "word.activation-quant",
    stage: "activation",
    on: "flat",
    is: /(?:silu|gelu|swiglu|geglu|swish|situ|andmul|actmul|gatedact|activation)\w*(?:quant|cast|fp8|fp4)|(?:quant|cast)\w*(?:silu|gelu|swiglu)/,
    not: /gemm|matmul|conv|megamoe|fusedmoe|attn|quantactivation|activationquant/,
    also: ["moe_expert", "quantize"],
    sure: 0.85,
  },
  {
    id: "word.activation",
    stage: "activation",
    on: "flat",
    is: /silu(?!te)|gelu|swiglu|geglu|reglu|swish|andmul|actmul|gatedact|doactivation|activation(?:deepseek|kernel|func)|moeactivation|relu|quickgelu|fatrelu|clampedglu|xielu/,
    not: /gemm|matmul|conv|megamoe|fusedmoe|attn|matmulogs|norm/,
    also: ["moe_expert", "elementwise"],
    sure: 0.85,
  },
];

const KV_AND_ROPE: readonly Rule[] = [
  {
    id: "word.and-cache",
    stage: "kv_cache",
    on: "flat",
    is: /(?:reshape|concat|insert|quant)\w*andcache|andcache(?:mla|flash|kernel|asm)|cacheandreshape|quantcache/,
    also: ["rope"],
    sure: 0.95,
  },
  {
    id: "word.rope",
    stage: "rope",
    on: "flat",
    is: /rotary|(?<![pu])rope(?!r)|cossincache/,
    not: /attention|fmha|decodewith|prefillwith/,
    also: ["kv_cache", "norm"],
    sure: 0.9,
  },
  {
    id: "word.kv-cache",
    stage: "kv_cache",
    on: "flat",
    is: /(?:set|get|put|store|write|gather|append|scatter|copy|save|load|update|move|(?<!pre)fill|zero|quantize|convert|transfer|swap|compress)\w*(?:kv|kcache|cacheloc|kands)|(?:kv|kcache)\w*(?:store|write|append|transfer|copy|offload|gather|scatter|update|indices|index|pool)|kvbuffer|kvindic|kvindptr|pageindic|pagetable|blocktable|reqtotoken|tokenpool|alloc(?:extend|decode)|slotmapping|swapblocks|copyblocks|maybedequantcache|pagehead|kvpage|mlacache|cachewriter|cacheloc|lastloc|gathercache|dequant\w*cache|blockindices/,
    not: /attention|attn|fmha|decodewith|prefillwith|mqalogits|numkvsplits|seqlens|kvsplit|decodestage|multitensor/,
    also: ["memcpy", "quantize", "rope"],
    sure: 0.85,
  },
  {
    id: "word.kv-transfer",
    stage: "kv_cache",
    on: "words",
    is: /_transfer_(?:page|kv|kernel|cache|layer)|_offload_/,
    also: ["memcpy"],
    sure: 0.6,
  },
];

const SAMPLING: readonly Rule[] = [
  {
    id: "word.sampling",
    stage: "sampling",
    on: "flat",
    is: /sampl(?:e|ing)|argmax|bitmask|penalt|verifytree|verifychain|speculative|logsoftmax|temperature|gumbel|multinomial|renormprob|probs?renorm|masklogits|logitsmask|logitsprocess|logitbias|rejection|topktopp|toppmask|logprob|ngram|eagle|spec(?:decode|ulat)|recoveredtoken|bonustoken/,
    not: /(?:up|down|re|grid)sampl|stepflash|attn|attention/,
    sure: 0.85,
  },
  { id: "word.top-p", stage: "sampling", on: "words", is: /_(?:top_?p|min_?p|top_?k_?top_?p|temp)_/, sure: 0.8 },
  {
    id: "word.sparse-index",
    stage: "attention_sparse_index",
    on: "flat",
    is: /mqalogits|cleanlogits|topktransform|indexer|topkmain|sparseindex|lightningindex|hadamard|topkindex|topkperrow|fasttopk|indexscore/,
    also: ["attention", "quantize"],
    sure: 0.85,
  },
];

const NORM_AND_QUANT: readonly Rule[] = [
  {
    id: "word.norm",
    stage: "norm",
    on: "flat",
    is: /norm(?!al(?!iz))/,
    not: /renorm|prenorm|(?:un|de|ab)norm|gemm|attn|attention|normaldist|expert|topk/,
    also: ["quantize", "linear_attn"],
    sure: 0.9,
  },
  {
    id: "word.norm-short",
    stage: "norm",
    on: "words",
    is: /_(?:ln_fwd|ln_bwd|ln_forward|ln_backward|ln_parallel|ln_kernel|rms_fwd|rms_bwd|rms_kernel|rms_quant)/,
    sure: 0.7,
  },
  {
    id: "word.quant-by",
    stage: "quantize",
    on: "flat",
    is: /per(?:token|tensor|channel|block|group|row|act)\w*(?:quant|cast)|(?:quant|cast)\w*per(?:token|tensor|channel|block|group|row)|(?:static|dynamic|scaled|smooth|block|group)(?:scaled)?(?:fp8|fp4|int8|8bit)?quant|(?<!de|w)quant(?:ize)?(?:fp8|fp4|nvfp4|mxfp\d|int8|tofp|bf16)|(?:fp8|fp4|int8|mxfp\d)quant|actquant/,
    not: /gemm(?!masked)|matmul|moegemm|attn|attention/,
    also: ["moe_dispatch"],
    sure: 0.9,
  },
];

const MOE: readonly Rule[] = [
  { id: "word.dispatch", stage: "moe_dispatch", on: "flat", is: /dispatch/, sure: 0.7 },
  {
    id: "word.combine",
    stage: "moe_combine",
    on: "flat",
    is: /unpermute|unshuffle|postreorder|epgather|shufflemulsum|combinetopk|moe\w*(?:combine|sum|unsort|weighted)|moereduce|(?:topk|expert)\w*(?:weighted)?(?:sum|combine|reduce)(?!scatter)|sum\w*(?:topk|expert)|weightedsum/,
    not: /align|rout|count|prefixsum|cumsum/,
    sure: 0.85,
  },
  {
    id: "word.align-count",
    stage: "moe_dispatch",
    on: "flat",
    is: /alignblocksize|moealign|moesort|moe\w*(?:permute|expand|shuffle|scatter|align)|src2dst|maskedm(?:triton|kernel)|expandinput|expandto|epscatter|shufflerows|shuffleinput|tokensort|sort\w*expert|expert\w*(?:sort|offset|firsttoken|prefixsum|map|count|index|indices|id)|count\w*expert|problemsizes|segindptr|numtiles|moemmdata|permute\w*(?:token|moe|expert|row|input)|(?:token|row|input)\w*permute|prereorder|mindices|preparemoe|fillgateup|ep(?:permute|scatter)|tokens?perexpert|prefixsum\w*expert/,
    not: /gemm|unpermute|finali/,
    also: ["moe_routing"],
    sure: 0.85,
  },
  {
    id: "word.strides",
    stage: "moe_expert",
    on: "flat",
    is: /groupgemmstarts|getgroup\w*(?:starts|args|offset)|stridestma|groupedgemm(?:args|setup|start)|gemmstarts/,
    also: ["moe_dispatch"],
    sure: 0.8,
  },
  {
    id: "word.expert-gemm",
    stage: "moe_expert",
    on: "flat",
    is: /fusedmoe|^fmoe|moe\w*(?:gemm|gemv|vec|mlp|ffn|marlin|wna16|matmul|linear|stage[12]|w4a|w8a|g1u1|mmk|mmsm|lora|mxfp|int4|expert)|(?:gemm|marlin|matmul|w\d+a\d+)\w*moe|megamoe|group(?:ed)?(?:gemm|mm|matmul)|gemmgroup|mgrouped|expert\w*(?:gemm|mlp|ffn|matmul)|matmulogs|ragged(?:matmul|gemm)/,
    not: /rout|gate(?!up)|topk|dense/,
    also: ["gemm", "moe_dispatch"],
    sure: 0.85,
  },
  {
    id: "word.combine-alone",
    stage: "moe_combine",
    on: "flat",
    is: /combine/,
    not: /att|fwd|flash|mla|split|kv|fmha|decode|softmax|lse|state/,
    sure: 0.6,
  },
];

const ATTENTION: readonly Rule[] = [
  {
    id: "word.mla-prefill",
    stage: "mla_prefill",
    on: "flat",
    is: /mla\w*(?:prefill|context)|(?:prefill|context)\w*mla|sparseattnfwd|sparseprefill|sparsefwd|fwdforprefill/,
    not: /decode/,
    also: ["attention_prefill"],
    sure: 0.8,
  },
  {
    id: "word.fmha-prefill",
    stage: "mla_prefill",
    on: "base",
    is: /^Sm100FmhaFwdKernel/,
    also: ["attention_prefill"],
    sure: 0.7,
  },
  {
    id: "word.mla",
    stage: "mla_decode",
    on: "words",
    is: /_mla(?:\d|_)/,
    also: ["attention_decode", "mla_prefill"],
    sure: 0.85,
  },
  {
    id: "word.mla-flat",
    stage: "mla_decode",
    on: "flat",
    is: /fmhamla|batchmla|splitkvmla|fwdmla|flashmla|mladecode|mlareduc|kernelmla|absorb/,
    also: ["attention_decode", "mla_prefill"],
    sure: 0.85,
  },
  {
    id: "word.grouped-stage-1",
    stage: "mla_decode",
    on: "base",
    is: /^_fwd_grouped_kernel_stage\d|^_fwd_kernel_stage\d_asm/,
    also: ["attention_decode"],
    sure: 0.65,
  },
  {
    id: "word.stage-1",
    stage: "attention_decode",
    on: "base",
    is: /^_(?:\w+_)?fwd_kernel_(?:(?:\w+_)?stage\d|token_)/,
    sure: 0.8,
  },
  {
    id: "word.decode",
    stage: "attention_decode",
    on: "flat",
    is: /(?:batch|single)decode|decodewith|pagedattention(?!metadata)|pagedattn|flashdecod|(?:attn|attention|fmha|mha|gqa)\w*decod|decod\w*(?:attn|attention|fmha|mha|gqa|softmax)|unifiedattention3d|attention3d|reducesegments|xqa|kernelmha|(?<!ge)mmha|maskedmultihead|generationattention|decodeatt|splitkv(?:decode|reduce)|fmhareduction/,
    not: /prefill\w*decode/,
    also: ["mla_decode", "attention"],
    sure: 0.85,
  },
  {
    id: "word.prefill",
    stage: "attention_prefill",
    on: "flat",
    is: /(?:batch|single)prefill|prefillwith|context(?:attention|attn|fmha)|(?:attn|attention|fmha)\w*(?:prefill|context|extend)|prefill\w*(?:attn|attention)|raggedattention|varlenattention|cutlassfmhaprefill/,
    also: ["mla_prefill", "attention_decode", "attention"],
    sure: 0.8,
  },
  {
    id: "word.fwd-kernel",
    stage: "attention_prefill",
    on: "base",
    is: /^_fwd_kernel(?!_unified)/,
    also: ["attention"],
    sure: 0.6,
  },
  {
    id: "word.cute-flash-vllm",
    stage: "attention_prefill",
    on: "flat",
    is: /vllmvllmflashattncute\w*sm100/,
    also: ["mla_prefill", "attention"],
    sure: 0.6,
  },
  {
    id: "word.attention",
    stage: "attention",
    on: "flat",
    is: /flashattn|flashfwd|flashattention|fmha|sdpa|attention|attn|merge\w*states?|mergestate|variablelengthmerge|numkvsplits|kvsplits|varlennumblocks|multihead|unifiedattention|fwdkernelunified|podwithkv|splitkvkernel|flashbwd|mhafwd|mhabwd|sageattn|flash\w*prefill/,
    not: /multiheadlatent/,
    also: ["mla_prefill", "mla_decode", "attention_decode", "attention_prefill"],
    sure: 0.75,
  },
];

const PRODUCTS: readonly Rule[] = [
  {
    id: "word.embedding",
    stage: "embedding",
    on: "flat",
    is: /embed|indexselect|vectorizedgather|tokenlookup/,
    also: ["elementwise"],
    sure: 0.8,
  },
  {
    id: "word.convolution",
    stage: "gemm",
    on: "flat",
    is: /conv(?:olve|olution)?[123]d|convolve|winograd|implicitgemm|fprop|dgrad|wgrad|im2col|depthwise|cudnn\w*conv/,
    also: ["other"],
    sure: 0.5,
  },
  // DeepGEMM's functions serve dense and grouped products; GemmType among the arguments tells, where there are any.
  {
    id: "word.deep-gemm-function",
    stage: "gemm",
    on: "base",
    is: /^(?:sm\d+_)?(?:fp8_|fp4_|bf16_|tf32_)+gemm_(?:1d[12]d_)?(?:impl|kernel)(?:_swap\w*)?$/,
    also: ["moe_expert"],
    sure: 0.55,
    deniable: true,
  },
  {
    id: "word.gemm",
    stage: "gemm",
    on: "flat",
    is: /gemm|gemv|matmul|mulmat|matvec|marlin|machete|splitkreduce|splitkserial|wvsplitk|w4a\d|w8a\d|lora(?:shrink|expand|[ab]kernel)|mmkernel|scaledmm|blockscaledmm|^addmm|^bmm|linearkernel|dotproduct|bmmkernel|gptq|exllama|triton(?:mm|bmm)|matrixmul/,
    not: /dequant|quantkernel|groupquant|shuffle|permute|reorder|workspace/,
    sure: 0.85,
  },
  { id: "word.mm", stage: "gemm", on: "base", is: /(?:^|_)(?:mm|bmm|addmm|linear)(?:_|$)/, sure: 0.7 },
];

const REST: readonly Rule[] = [
  {
    id: "word.quant",
    stage: "quantize",
    on: "flat",
    is: /quant(?!um|il|if)|cvtfp|cvtwarp|castto|castback|scale1x128|scaleinterleave|blockscale|inputscale|alignscale|ue8m0|nvfp4|mxfp\d|fp8cast|tofp8|tofp4|layoutsf|scalefactor|swizzlescale|swizzlesf|sfinto|tofloat8|transposefp32|absmax|amax|hp?dequant/,
    also: ["kv_cache"],
    sure: 0.8,
  },
  {
    id: "word.cache",
    stage: "kv_cache",
    on: "flat",
    is: /kvcache|kcache|vcache|pagedcache|cacheblock|pagedkv|blockcopy|tokentokv/,
    sure: 0.6,
  },
  {
    id: "word.top-k",
    stage: "sampling",
    on: "flat",
    is: /topk/,
    also: ["attention_sparse_index", "moe_routing"],
    sure: 0.5,
  },
  { id: "word.softmax", stage: "sampling", on: "flat", is: /softmax/, also: ["moe_routing", "attention"], sure: 0.45 },
  {
    id: "word.expert",
    stage: "moe_dispatch",
    on: "flat",
    is: /expert/,
    also: ["moe_routing", "moe_expert"],
    sure: 0.4,
  },
  {
    id: "word.moe",
    stage: "moe_expert",
    on: "words",
    is: /_(?:moe|fmoe)_/,
    also: ["moe_dispatch", "moe_combine", "moe_routing"],
    sure: 0.4,
  },
  {
    id: "word.permute",
    stage: "moe_dispatch",
    on: "base",
    is: /^_?permute(?:Kernel|_kernel)|^shuffle(?:Rows|_rows)/,
    sure: 0.5,
  },
  {
    id: "word.sort-scan",
    stage: "other",
    on: "flat",
    is: /radixsort|mergesort|bitonic|onesweep|devicescan|scankernel|histogram|prefixsum|cumsum|sortkernel/,
    also: ["sampling", "moe_dispatch"],
    sure: 0.5,
  },
  {
    id: "word.metadata",
    stage: "other",
    on: "flat",
    is: /metadata|position|tokenids|futuretoken|treemask|delay|spinkernel|sleepkernel|seqlens|lookahead|cudagraph|generatebuffer/,
    sure: 0.5,
  },
];

export const WORDS: readonly Rule[] = [
  ...BOOKKEEPING,
  ...COMM,
  ...LINEAR_ATTENTION,
  ...ROUTING,
  ...ACTIVATION,
  ...KV_AND_ROPE,
  ...SAMPLING,
  ...NORM_AND_QUANT,
  ...MOE,
  ...ATTENTION,
  ...PRODUCTS,
  ...REST,
];

/** Words of no stage in particular. A name that holds one of them says little about its place. */
export const FALL_BACKS: readonly Rule[] = [
  {
    id: "fall-back.copy-to-gpu",
    stage: "memcpy",
    on: "flat",
    is: /copytogpu|copytohost|copytodevice|memcpy|memset/,
    also: ["elementwise"],
    sure: 0.5,
  },
  {
    id: "fall-back.copy",
    stage: "elementwise",
    on: "flat",
    is: /copy|transpose|(?<!pre)fill|concat|split|stack|pad(?:ding)?kernel|slice|gather|scatter|zeros|catarray|contiguous/,
    also: ["memcpy"],
    sure: 0.4,
  },
  { id: "fall-back.reduce", stage: "elementwise", on: "flat", is: /reduc|mean|sumkernel|maxkernel/, sure: 0.4 },
  {
    id: "fall-back.elementwise",
    stage: "elementwise",
    on: "flat",
    is: /elementwise|pointwise|multitensorapply|funckernelrank|functensor|funcscalar|softcap|broadcast|arange|residual|sigmoid|clamp|tanh|whereself|maskedfill|triu|tril|unaryop|binaryop/,
    also: ["moe_routing"],
    sure: 0.4,
  },
  {
    id: "fall-back.arithmetic",
    stage: "elementwise",
    on: "words",
    is: /_(?:add|mul|multiply|subtract|divide|sub|div|neg|exp|log|pow|sqrt|rsqrt|abs|sin|cos|cast|scale|bias|saxpy|axpy|scalar)_/,
    sure: 0.3,
  },
];
