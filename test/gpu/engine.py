"""A small stand-in for a serving engine: a DeepSeek-V3 shaped model (MLA + MoE, random weights) on one GPU.

offline:  python3 engine.py bench --batch 32 --prompt 256 --decode 8        one benchmark run, like `vllm bench latency`
server :  python3 engine.py serve --port 8000                               /health /metrics /v1/models /v1/completions
                                                                            /start_profile /stop_profile
          python3 engine.py serve --child                                   a spawned child process does the work on the GPU

Weights and the prompts of `bench` follow from --seed. A request carries one prompt or a list of prompts (token ids or
strings), which run as one batch; requests that wait are batched together up to --max-batch prompts. Metric names are
vLLM's, so that a client written for vLLM reads them. It prints 'warmup done' once its first batch has run, and serves
only then.
"""
import argparse, asyncio, concurrent.futures, json, multiprocessing, os, time

VOCABULARY = 32768
MAX_MODEL_LEN = 4096
GATHER_S = 0.01


def build(layers, seed):
    import torch
    from transformers import DeepseekV3Config, DeepseekV3ForCausalLM
    c = DeepseekV3Config(vocab_size=VOCABULARY, hidden_size=2048, intermediate_size=5632, moe_intermediate_size=1024,
        num_hidden_layers=layers, num_attention_heads=16, num_key_value_heads=16, n_shared_experts=1, n_routed_experts=32,
        num_experts_per_tok=8, n_group=8, topk_group=4, first_k_dense_replace=1, kv_lora_rank=512, q_lora_rank=1536,
        qk_rope_head_dim=64, qk_nope_head_dim=128, v_head_dim=128, max_position_embeddings=MAX_MODEL_LEN)
    torch.manual_seed(seed)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        m = DeepseekV3ForCausalLM(c)
    return m.eval()


def random_prompts(batch, length, seed):
    import torch
    g = torch.Generator().manual_seed(seed)
    return torch.randint(0, VOCABULARY, (batch, length), generator=g).tolist()


def run(m, prompts, decode):
    """One prefill and `decode` decode steps for prompts of equal length; greedy. Returns decode + 1 tokens of each."""
    import torch
    with torch.inference_mode():
        x = torch.tensor(prompts, dtype=torch.long, device="cuda")
        out = m(input_ids=x, use_cache=True)
        past, tok = out.past_key_values, out.logits[:, -1:].argmax(-1)
        toks = [tok]
        for _ in range(decode):
            out = m(input_ids=tok, past_key_values=past, use_cache=True)
            past, tok = out.past_key_values, out.logits[:, -1:].argmax(-1)
            toks.append(tok)
        torch.cuda.synchronize()
        return torch.cat(toks, 1).tolist()


def bench(a):
    import torch
    m = build(a.layers, a.seed)
    run(m, random_prompts(2, 16, a.seed), 1)
    print("warmup done", flush=True)
    prompts = random_prompts(a.batch, a.prompt, a.seed + 1)
    torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStart()
    t = time.time()
    if a.trace:
        from torch.profiler import profile, ProfilerActivity
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
            run(m, prompts, a.decode)
        p.export_chrome_trace(a.trace)
    else:
        run(m, prompts, a.decode)
    print(f"elapsed_s {time.time() - t:.3f}", flush=True)
    torch.cuda.cudart().cudaProfilerStop()


class Gpu:
    """The model in this process."""

    def __init__(self, layers, seed):
        self.model = build(layers, seed)
        run(self.model, random_prompts(2, 16, seed), 1)

    def call(self, name, *args):
        import torch
        if name == "run":
            return run(self.model, *args)
        torch.cuda.synchronize()
        if name == "start":
            torch.cuda.cudart().cudaProfilerStart()
        if name == "stop":
            torch.cuda.cudart().cudaProfilerStop()
        return None


def child_main(pipe, layers, seed):
    """Runs in the spawned process: calls come through the pipe until it closes."""
    gpu = Gpu(layers, seed)
    pipe.send((True, None))
    while True:
        try:
            call = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send((True, gpu.call(*call)))
        except Exception as error:  # told to the parent, which answers the request with it
            pipe.send((False, f"{type(error).__name__}: {error}"))


class Child:
    """The model in a process of its own, as vLLM and SGLang have it. This process never touches the GPU."""

    def __init__(self, layers, seed):
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        # daemon: ended with this process.
        self.process = context.Process(target=child_main, args=(theirs, layers, seed), daemon=True)
        self.process.start()
        # Else the pipe would not close when the child dies.
        theirs.close()
        self.receive()

    def receive(self, call=None):
        try:
            if call:
                self.pipe.send(call)
            good, value = self.pipe.recv()
        except (EOFError, OSError):
            print("the GPU process died", flush=True)
            os._exit(1)
        if not good:
            raise RuntimeError(value)
        return value

    def call(self, *call):
        return self.receive(call)


class BadRequest(Exception):
    pass


def prompts_of(body):
    """`prompt` of a request as lists of token ids: ints, lists of ints, a string or strings."""
    p = body.get("prompt")
    if isinstance(p, str):
        p = [p]
    if not isinstance(p, list) or not p:
        raise BadRequest("prompt: expected token ids, a list of them, a string or a list of strings")
    if all(isinstance(t, int) for t in p):
        p = [p]
    prompts = []
    for one in p:
        if isinstance(one, str):
            one = list(one.encode()) or [0]
        if not isinstance(one, list) or not one or not all(isinstance(t, int) and 0 <= t < VOCABULARY for t in one):
            raise BadRequest(f"prompt: expected token ids from 0 to {VOCABULARY - 1}")
        prompts.append(one)
    return prompts


class Request:
    def __init__(self, prompts, max_tokens, is_gone):
        self.prompts, self.max_tokens, self.is_gone = prompts, max_tokens, is_gone
        self.answer = asyncio.get_running_loop().create_future()


class Engine:
    def __init__(self, gpu, max_batch):
        self.gpu, self.max_batch = gpu, max_batch
        # One thread: all launches come from it, and nothing overtakes a batch.
        self.thread = concurrent.futures.ThreadPoolExecutor(1)
        self.waiting, self.wake = [], asyncio.Event()
        self.running = 0
        self.finished = {"stop": 0, "length": 0, "abort": 0}
        self.prompt_tokens = self.generation_tokens = 0

    async def call(self, *call):
        return await asyncio.get_running_loop().run_in_executor(self.thread, self.gpu.call, *call)

    async def submit(self, request):
        self.waiting.append(request)
        self.wake.set()
        return await request.answer

    def take(self):
        """The requests of the next batch, in order: at least one, as many as fit into max_batch prompts."""
        batch, size = [], 0
        while self.waiting and (not batch or size + len(self.waiting[0].prompts) <= self.max_batch):
            request = self.waiting.pop(0)
            if request.is_gone():
                self.finished["abort"] += len(request.prompts)
                request.answer.cancel()
                continue
            batch.append(request)
            size += len(request.prompts)
        return batch

    async def loop(self):
        while True:
            await self.wake.wait()
            self.wake.clear()
            while self.waiting:
                # Clients that were answered together ask again together: without it the first of them runs alone.
                await asyncio.sleep(GATHER_S)
                batch = self.take()
                if batch:
                    await self.run_batch(batch)

    async def run_batch(self, batch):
        prompts = [p for request in batch for p in request.prompts]
        longest = max(len(p) for p in prompts)
        # Padded on the left without a mask: this engine is for its kernels' times, not for its words.
        padded = [[0] * (longest - len(p)) + p for p in prompts]
        self.running = len(prompts)
        try:
            tokens = await self.call("run", padded, max(r.max_tokens for r in batch) - 1)
        except Exception as error:
            for request in batch:
                if not request.answer.done():
                    request.answer.set_exception(error)
            return
        finally:
            self.running = 0
        at = 0
        for request in batch:
            n = len(request.prompts)
            self.finished["length"] += n
            self.prompt_tokens += sum(len(p) for p in request.prompts)
            self.generation_tokens += n * request.max_tokens
            if not request.answer.done():
                request.answer.set_result([t[:request.max_tokens] for t in tokens[at:at + n]])
            at += n

    def metrics(self, model):
        label = f'engine="0",model_name="{model}"'
        finished = [f'vllm:request_success_total{{{label},finished_reason="{reason}"}} {n}.0' for reason, n in self.finished.items()]
        waiting = sum(len(r.prompts) for r in self.waiting)
        return "\n".join(["# TYPE vllm:request_success counter", *finished,
            "# TYPE vllm:num_requests_running gauge", f"vllm:num_requests_running{{{label}}} {self.running}.0",
            "# TYPE vllm:num_requests_waiting gauge", f"vllm:num_requests_waiting{{{label}}} {waiting}.0",
            "# TYPE vllm:prompt_tokens counter", f"vllm:prompt_tokens_total{{{label}}} {self.prompt_tokens}.0",
            "# TYPE vllm:generation_tokens counter", f"vllm:generation_tokens_total{{{label}}} {self.generation_tokens}.0", ""])


def serve(a):
    from aiohttp import web
    gpu = Child(a.layers, a.seed) if a.child else Gpu(a.layers, a.seed)
    print("warmup done", flush=True)
    engine = None

    def problem(status, message):
        return web.json_response({"error": {"message": message, "code": status}}, status=status)

    async def completions(req):
        try:
            body = await req.json()
            prompts = prompts_of(body)
            max_tokens = body.get("max_tokens", 16)
            if not isinstance(max_tokens, int) or max_tokens < 1:
                raise BadRequest("max_tokens: expected a whole number, at least 1")
            if max(len(p) for p in prompts) + max_tokens > MAX_MODEL_LEN:
                raise BadRequest(f"prompt and max_tokens are more than max_model_len {MAX_MODEL_LEN}")
            if len(prompts) > a.max_batch:
                raise BadRequest(f"{len(prompts)} prompts are more than max_batch {a.max_batch}")
        except (BadRequest, json.JSONDecodeError, AttributeError) as error:
            return problem(400, str(error))
        try:
            answer = await engine.submit(Request(prompts, max_tokens, lambda: req.transport is None or req.transport.is_closing()))
        except RuntimeError as error:
            return problem(500, str(error))
        used = sum(len(p) for p in prompts)
        usage = {"prompt_tokens": used, "completion_tokens": len(prompts) * max_tokens, "total_tokens": used + len(prompts) * max_tokens}
        head = {"id": f"cmpl-{time.time_ns()}", "object": "text_completion", "created": int(time.time()), "model": a.model}
        choices = [{"index": i, "text": " ".join(map(str, t)), "finish_reason": "length"} for i, t in enumerate(answer)]
        if not body.get("stream"):
            return web.json_response({**head, "choices": choices, "usage": usage})
        stream = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await stream.prepare(req)
        events = [{**head, "choices": [c]} for c in choices]
        if (body.get("stream_options") or {}).get("include_usage"):
            events.append({**head, "choices": [], "usage": usage})
        for event in events:
            await stream.write(f"data: {json.dumps(event)}\n\n".encode())
        await stream.write(b"data: [DONE]\n\n")
        await stream.write_eof()
        return stream

    async def models(_):
        return web.json_response({"object": "list", "data": [{"id": a.model, "object": "model", "max_model_len": MAX_MODEL_LEN}]})

    async def metrics(_):
        return web.Response(text=engine.metrics(a.model))

    async def health(_):
        return web.Response(text="")

    async def start(_):
        await engine.call("start")
        return web.Response(text="started")

    async def stop(_):
        await engine.call("stop")
        return web.Response(text="stopped")

    async def begin(_):
        nonlocal engine
        engine = Engine(gpu, a.max_batch)
        begin.task = asyncio.create_task(engine.loop())  # kept, or it may be collected

    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.on_startup.append(begin)
    app.add_routes([web.get("/health", health), web.get("/metrics", metrics), web.get("/v1/models", models),
                    web.post("/v1/completions", completions), web.post("/start_profile", start), web.post("/stop_profile", stop)])
    web.run_app(app, host=a.host, port=a.port, print=None, shutdown_timeout=1)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("mode", choices=["bench", "serve"])
    p.add_argument("--batch", type=int, default=32); p.add_argument("--prompt", type=int, default=256)
    p.add_argument("--decode", type=int, default=8); p.add_argument("--layers", type=int, default=4)
    p.add_argument("--seed", type=int, default=1); p.add_argument("--trace"); p.add_argument("--model", default="deepseek-v3-small")
    p.add_argument("--host", default="127.0.0.1"); p.add_argument("--port", type=int, default=8000)
    p.add_argument("--max-batch", type=int, default=128); p.add_argument("--child", action="store_true")
    a = p.parse_args()
    bench(a) if a.mode == "bench" else serve(a)
