import { describe, expect, test } from "vitest";
import { nameKey, normalizeName } from "../../src/analysis/names.ts";
import { isFullPipeline, targetMatcher, targetProblem } from "../../src/analysis/target.ts";
import type { KernelNames } from "../../src/model/launch.ts";

const names = (rest: Partial<KernelNames>): KernelNames => ({
  mangled: null,
  function: null,
  demangled: null,
  display: rest.demangled ?? rest.function ?? rest.mangled ?? "",
  simplified: false,
  ...rest,
});

const NCU =
  "void at::native::<unnamed>::softmax_warp_forward<float, float, float, (int)8, (bool)0, (bool)1>(T2 *, const T1 *, int, int, int)";
const TORCH =
  "void at::native::(anonymous namespace)::softmax_warp_forward<float, float, float, 8, false, true>(float*, float const*, int, int, int)";

describe("one spelling for a name", () => {
  test.each([
    [NCU, TORCH],
    ["void f<(int)-1, (unsigned int)4>(int)", "void f<-1, 4u>(int)"],
    ["void f<(unsigned long)16>()", "void f<16ul>()"],
    ["k<std::array<char *, (unsigned long)3>>(int)", "k<std::array<char*, 3ul> >(int)"],
    ["k<const float *>(int)", "k<float const*>(int)"],
    ["stream_add(const float4 *, float4 *, unsigned long)", "stream_add"],
    ["ns::f(int) const", "ns::f"],
    ["f(int) [clone .constprop.0]", "f"],
    // A lambda, with the return type of its function, a parameter by template argument and `operator ()`.
    [
      "void k<(int)4, void n::g<B<float>>(n::I &, const T1 &)::[lambda(int) (instance 1)]>(int, T2)",
      "void k<4, n::g<B<float> >(n::I&, B<float> const&)::{lambda(int)#1}>(int, n::g<B<float> >(n::I&, B<float> const&)::{lambda(int)#1})",
    ],
    [
      "void k<n::f(n::I &)::[lambda() (instance 3)]::operator ()() const::[lambda(c10::BFloat16) (instance 12)]>(T1)",
      "void k<n::f(n::I&)::{lambda()#3}::operator()() const::{lambda(c10::BFloat16)#12}>(int)",
    ],
    [
      "k<const A & f<float *>(const T1 &, T1 *)::[lambda(T1) (instance 2)]>(T1)",
      "k<f<float*>(float* const&, float**)::{lambda(auto:1)#2}>(int)",
    ],
    ["k<void f<int &>(T1 &&)::[lambda() (instance 1)]>()", "k<f<int&>(int&)::{lambda()#1}>()"],
    ["k<const void f<int>(T1)::[lambda() (instance 1)] &>()", "k<f<int>(int)::{lambda()#1} const&>()"],
    ["k<a::b<int>::operator <(int)::[lambda() (instance 1)]>()", "k<a::b<int>::operator<(int)::{lambda()#1}>()"],
    ["void k<x::[unnamed type (instance 1)]>(T1)", "void k<x::{unnamed type#1}>(int)"],
    ["k<const std::vector<T> *const, volatile const int *>()", "k<std::vector<T> const* const, int const volatile*>()"],
    ["k<void (*)(int, float *), float (&)[4]>(T1)", "k<void (*)(int, float*), float (&) [4]>()"],
    ["void k<p::Pack<int, >>(T1)", "void k<p::Pack<int> >(p::Pack<int>)"],
    ["void k<std::nullptr_t>(T1 *)", "void k<decltype(nullptr)>(decltype(nullptr)*)"],
    ["void k<(char)97, (ns::<unnamed>::E)1>(T1)", "void k<(char)97, (ns::(anonymous namespace)::E)1>(int)"],
    [
      "std::enable_if<!T2, void>::type g::k<int, (bool)0>(T3)",
      "std::enable_if<!(false), void>::type g::k<int, false>(int)",
    ],
    [
      "void v::act<c10::Half, &v::silu<c10::Half>>(T1 *)",
      "void v::act<c10::Half, &(c10::Half v::silu<c10::Half>(c10::Half const&))>(c10::Half*)",
    ],
  ])("%s and %s", (a, b) => {
    expect(normalizeName(a)).toBe(normalizeName(b));
  });

  test.each([
    ["void f<8>(int)", "void f<4>(int)"],
    ["a::f(int)", "b::f(int)"],
    ["f<int>(int)", "f<long>(int)"],
    ["f<(bool)0>()", "f<(bool)1>()"],
    ["k<f(int)::[lambda() (instance 1)]>(T1)", "k<f(long)::{lambda()#1}>()"],
    ["k<f(int)::[lambda() (instance 1)]>(T1)", "k<f(int)::{lambda()#2}>()"],
    ["k<f(int)::[lambda(int) (instance 1)]>(T1)", "k<f(int)::{lambda(float)#1}>()"],
    ["k<void f<int>(T1)::[lambda() (instance 1)]>()", "k<f<int>(long)::{lambda()#1}>()"],
    // Which argument is meant cannot be told.
    ["k<void f<int>(T3)::[lambda() (instance 1)]>()", "k<f<int>(int)::{lambda()#1}>()"],
    ["k<&(f(int))>()", "k<&(f(long))>()"],
    ["k<(a::E)0>()", "k<(b::E)0>()"],
    ["k<float *>()", "k<const float *>()"],
    ["k<float *>()", "k<float *const>()"],
    ["k<p::Pack<int, >>(T1)", "k<p::Pack<int, int>>(T1)"],
  ])("%s and %s stay apart", (a, b) => {
    expect(normalizeName(a)).not.toBe(normalizeName(b));
  });

  test("parentheses that are no parameter list stay", () => {
    expect(normalizeName("(anonymous namespace)::f(int)")).toBe("(anonymous namespace)::f");
    expect(normalizeName("ns::functor::operator()(int, float)")).toBe("ns::functor::operator()");
    expect(normalizeName("ns::functor::operator()")).toBe("ns::functor::operator()");
    for (const plain of ["nvjet_sm90_tst_320x128_64x3", "[CUDA memcpy Host-to-Device]", "my kernel"])
      expect(normalizeName(plain)).toBe(plain);
  });

  test("hostile names take linear time and come back", () => {
    const deep = `${"f<(int)8, ".repeat(20_000)}${"(".repeat(20_000)})`;
    expect(normalizeName(deep).length).toBeGreaterThan(0);
    expect(normalizeName(`f ${"[clone ".repeat(20_000)}]`)).toContain("f");
    expect(normalizeName(`${"const ".repeat(20_000)}x`)).toContain("x");
    for (const part of ["f<", "f(", "[lambda(", "&(", "(int)", "operator", "f<T1>(T1,T1)::", "a ", "[", "{", " ::"]) {
      const before = performance.now();
      expect(normalizeName(part.repeat(60_000 / part.length)).length).toBeGreaterThan(0);
      expect(performance.now() - before).toBeLessThan(2_000);
    }
    const growing = `k<f<${"x".repeat(2_000)}>(${"T1,".repeat(20_000)})::g>`;
    expect(normalizeName(growing).length).toBeLessThan(40 * growing.length);
  });
});

describe("the key", () => {
  test("is the demangled name without parameters", () => {
    expect(nameKey(names({ mangled: "_Z1fi", demangled: "f(int)", function: "f" }))).toStrictEqual({
      key: "f",
      kind: "demangled",
    });
  });
  test("is the symbol of a kernel that has no other name", () => {
    expect(nameKey(names({ mangled: "triton_kernel", demangled: "", function: "triton_kernel" }))).toStrictEqual({
      key: "triton_kernel",
      kind: "mangled",
    });
  });
  test("is the demangled name where only the mangled one is known, or the symbol where that is not possible", () => {
    expect(nameKey(names({ mangled: "_ZN2at6kernelEi" }))).toStrictEqual({ key: "at::kernel", kind: "demangled" });
    expect(nameKey(names({ mangled: "_ZN2at6kernelIXsrT_1xEEEvi" }))).toStrictEqual({
      key: "_ZN2at6kernelIXsrT_1xEEEvi",
      kind: "mangled",
    });
  });
  test("is the printed name of a CSV page, and says so", () => {
    expect(nameKey(names({ display: "void at::k<8>(int)", simplified: true }))).toStrictEqual({
      key: "void at::k<8>",
      kind: "printed",
    });
    expect(nameKey(names({ display: "k" })).kind).toBe("printed");
  });
});

describe("a target", () => {
  const softmax = names({
    mangled: "_ZN2at6native12_GLOBAL__N_120softmax_warp_forwardIff",
    function: "softmax_warp_forward",
    demangled: NCU,
  });
  const matches = (target: string, kernel = softmax): boolean => {
    const matcher = targetMatcher(target);
    if (!matcher.ok) throw new Error(matcher.error);
    return matcher.value(kernel);
  };

  test.each([
    ["the function name", "softmax_warp_forward"],
    ["the mangled name", "_ZN2at6native12_GLOBAL__N_120softmax_warp_forwardIff"],
    ["the demangled name", NCU],
    ["the demangled name of another tool", TORCH],
    ["the demangled name without parameters", NCU.slice(0, NCU.lastIndexOf("("))],
    ["a pattern anywhere in it", "/warp_forward<float/"],
    ["a pattern without case", "/SOFTMAX/i"],
  ])("matches by %s", (_, target) => {
    expect(matches(target)).toBe(true);
  });

  test.each(["softmax", "warp_forward", "Softmax_warp_forward", "/^softmax$/", "/SOFTMAX/"])(
    "%s does not match",
    (target) => {
      expect(matches(target)).toBe(false);
    },
  );

  test("a printed name has a base name too", () => {
    const printed = names({ display: "void <unnamed>::softmax_warp_forward<float, 8>(T2 *)", simplified: true });
    expect(matches("softmax_warp_forward", printed)).toBe(true);
    expect(matches("void <unnamed>::softmax_warp_forward<float, 8>(T2 *)", printed)).toBe(true);
  });

  test("patterns run in linear time and are refused where they are wrong", () => {
    expect(matches("/(a+)+$/", names({ demangled: `${"a".repeat(50_000)}!()` }))).toBe(false);
    expect(targetMatcher("/(/")).toMatchObject({ ok: false });
    expect(targetMatcher("/(?=x)/")).toMatchObject({ ok: false });
    expect(targetMatcher("  ")).toMatchObject({ ok: false });
  });

  test("what is wrong with a target is the same whether it is asked for or met while matching", () => {
    for (const target of ["gemm", " gemm ", "/ge.m/", "/GEMM/i", "/gemm/zz", "/(/", "/", "", "  "]) {
      const matcher = targetMatcher(target);
      expect(targetProblem(target)).toBe(matcher.ok ? null : matcher.error);
    }
  });

  test("the full pipeline", () => {
    for (const target of ["full pipeline", "full-pipeline", " Full Pipeline "])
      expect(isFullPipeline(target)).toBe(true);
    for (const target of ["full_pipeline", "pipeline", "fullpipeline", ""]) expect(isFullPipeline(target)).toBe(false);
  });
});
