/** Codes of the Itanium C++ ABI, section 5.1, in the words of the C++ library's demangler. */

// biome-ignore format: a table
export const BUILTIN: Readonly<Record<string, string>> = {
  v: "void", w: "wchar_t", b: "bool", c: "char", a: "signed char", h: "unsigned char", s: "short", t: "unsigned short",
  i: "int", j: "unsigned int", l: "long", m: "unsigned long", x: "long long", y: "unsigned long long", n: "__int128",
  o: "unsigned __int128", f: "float", d: "double", e: "long double", g: "__float128", z: "...",
};
// biome-ignore format: a table
export const BUILTIN_D: Readonly<Record<string, string>> = {
  Dn: "std::nullptr_t", Da: "auto", Dc: "decltype(auto)", Di: "char32_t", Ds: "char16_t", Du: "char8_t", Dh: "half",
};
// biome-ignore format: a table
export const STD: Readonly<Record<string, string>> = {
  a: "std::allocator", b: "std::basic_string", s: "std::string", i: "std::istream", o: "std::ostream", d: "std::iostream",
};
// biome-ignore format: a table
export const OPERATORS: Readonly<Record<string, string>> = {
  nw: " new", na: " new[]", dl: " delete", da: " delete[]", ps: "+", ng: "-", ad: "&", de: "*", co: "~", pl: "+", mi: "-",
  ml: "*", dv: "/", rm: "%", an: "&", or: "|", eo: "^", aS: "=", pL: "+=", mI: "-=", mL: "*=", dV: "/=", rM: "%=",
  aN: "&=", oR: "|=", eO: "^=", ls: "<<", rs: ">>", lS: "<<=", rS: ">>=", eq: "==", ne: "!=", lt: "<", gt: ">", le: "<=",
  ge: ">=", ss: "<=>", nt: "!", aa: "&&", oo: "||", pp: "++", mm: "--", cm: ",", pm: "->*", pt: "->", cl: "()", ix: "[]",
};
