import { describe, expect, test } from "vitest";
import { baseName } from "../../src/model/kernel-name.ts";
import { fixture } from "../helpers/fixtures.ts";

interface Verdicts {
  readonly kernels: readonly {
    readonly name: string;
    readonly name_in_report: string;
    readonly function_name: string;
  }[];
}

describe("baseName", () => {
  test.each(["verdicts-h200.json", "verdicts-tiny.json"])(
    "finds the function of every kernel of %s, full or simplified",
    (file) => {
      const { kernels } = JSON.parse(fixture(`verdicts/${file}`).toString("utf8")) as Verdicts;
      expect(kernels.length).toBeGreaterThan(10);
      for (const kernel of kernels) {
        expect(baseName(kernel.name)).toBe(kernel.function_name);
        expect(baseName(kernel.name_in_report)).toBe(kernel.function_name);
      }
    },
  );

  test.each([
    ["void <unnamed>::softmax_warp_forward<float, float>(T2 *, int)", "softmax_warp_forward"],
    ["ns::(anonymous namespace)::k(int)", "k"],
    ["(anonymous namespace)::k<(int)4>(int)", "k"],
    ["enable_if<!T7, void>::type kernel<int, int, 0>(T13)", "kernel"],
    ["std::enable_if<(A<B>::v && (x > 3)), void>::type k2<T>(T)", "k2"],
    ["decltype(a + b) ns::k<int>(int)", "k"],
    ["int* ns::k(int)", "k"],
    ["auto f(int) -> int", "f"],
    ["void foo<(bool)(3 > 2), (a<b>)1>(x)", "foo"],
    ["void k<&ns::operator< >(int)", "k"],
    ["void k<&(ns::operator>>(int))>(int)", "k"],
    ["Functor::operator()(int) const", "operator()"],
    ["foo(int)::[lambda() (instance 1)]::operator ()() const", "operator()"],
    ["void run<launch(int)::{lambda(int)#1}>({lambda(int)#1})", "run"],
    ["operator new(unsigned long)", "operator new"],
    ["copy_blocked[v1,cw51cXTL](Array<long long, 1, C, mutable, aligned>, long long)", "copy_blocked"],
    ["void cut<int, Foo<ba", "cut"],
    ["nvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_NNT", "nvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_NNT"],
    ["_Z6kernelIiEvT_", "kernel"],
    ["_ZL6kernelPf", "kernel"],
    ["_ZN12_GLOBAL__N_16kernelEPf", "kernel"],
    ["_ZN2at6native13reduce_kernelILi512EEvi", "reduce_kernel"],
    ["_ZN3std", "std"],
    ["_ZN99x", "_ZN99x"],
    ["", ""],
  ])("%s", (printed, expected) => {
    expect(baseName(printed)).toBe(expected);
  });

  test("ends on text made to hurt it", () => {
    for (const unit of ["<", "(", "<)", "operator<", "::", "a b ", "((>"]) {
      const text = unit.repeat(Math.floor(60_000 / unit.length));
      expect(typeof baseName(text)).toBe("string");
    }
  });
});
