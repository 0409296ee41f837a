/** Function name of the kernel that the probe launches. */
export const PROBE_KERNEL = "profile_kernel_probe";

/** Last line of the probe's output where everything went well; the driver's CUDA version follows. */
export const PROBE_DONE = "profile-kernel probe done";

/**
 * Launches one kernel by the driver API (cuda.h, CUDA 11 to 13) and looks at what it wrote. Needs python3 and libcuda, no
 * compiler: the driver compiles the PTX. PTX for sm_70 runs on every GPU from Volta on, which is all that Nsight Compute
 * still profiles; the second target is for drivers that no longer take the first. Exit 3 with a line `probe: <call>: <error>`
 * where a call fails.
 */
export const PROBE_PROGRAM = `import ctypes, sys

PTX = """
.version %s
.target %s
.address_size 64
.visible .entry ${PROBE_KERNEL}(.param .u64 data, .param .u32 count)
{
    .reg .pred %%p<2>;
    .reg .b32 %%r<6>;
    .reg .b64 %%rd<5>;
    .reg .f32 %%f<3>;
    ld.param.u64 %%rd1, [data];
    ld.param.u32 %%r1, [count];
    mov.u32 %%r2, %%ctaid.x;
    mov.u32 %%r3, %%ntid.x;
    mov.u32 %%r4, %%tid.x;
    mad.lo.s32 %%r5, %%r2, %%r3, %%r4;
    setp.ge.u32 %%p1, %%r5, %%r1;
    @%%p1 bra DONE;
    cvta.to.global.u64 %%rd2, %%rd1;
    mul.wide.u32 %%rd3, %%r5, 4;
    add.s64 %%rd4, %%rd2, %%rd3;
    ld.global.f32 %%f1, [%%rd4];
    add.f32 %%f2, %%f1, 0f3F800000;
    st.global.f32 [%%rd4], %%f2;
DONE:
    ret;
}
"""
THREADS = 256
BLOCKS = 4096
COUNT = THREADS * BLOCKS


def fail(call, why):
    print("probe: %s: %s" % (call, why), flush=True)
    sys.exit(3)


try:
    cuda = ctypes.CDLL("libcuda.so.1")
except OSError as error:
    fail("libcuda.so.1", error)


def name_of(code):
    text = ctypes.c_char_p()
    try:
        cuda.cuGetErrorName(ctypes.c_int(code), ctypes.byref(text))
    except AttributeError:
        pass
    return text.value.decode() if text.value else "error %d" % code


def call(name, *args):
    code = getattr(cuda, name)(*args)
    if code != 0:
        fail(name, name_of(code))


version = ctypes.c_int()
device = ctypes.c_int()
context = ctypes.c_void_p()
module = ctypes.c_void_p()
function = ctypes.c_void_p()
data = ctypes.c_uint64()
call("cuInit", ctypes.c_uint(0))
call("cuDriverGetVersion", ctypes.byref(version))
call("cuDeviceGet", ctypes.byref(device), ctypes.c_int(0))
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
call("cuCtxSetCurrent", context)

error = 0
for target in (("6.0", "sm_70"), ("6.3", "sm_75")):
    image = ctypes.create_string_buffer((PTX % target).encode())
    error = cuda.cuModuleLoadData(ctypes.byref(module), image)
    if error == 0:
        break
if error != 0:
    fail("cuModuleLoadData", name_of(error))

call("cuModuleGetFunction", ctypes.byref(function), module, ctypes.c_char_p(b"${PROBE_KERNEL}"))
call("cuMemAlloc_v2", ctypes.byref(data), ctypes.c_size_t(4 * COUNT))
call("cuMemsetD32_v2", data, ctypes.c_uint(0), ctypes.c_size_t(COUNT))
count = ctypes.c_uint(COUNT)
parameters = (ctypes.c_void_p * 2)(
    ctypes.cast(ctypes.pointer(data), ctypes.c_void_p), ctypes.cast(ctypes.pointer(count), ctypes.c_void_p)
)
one = ctypes.c_uint(1)
call(
    "cuLaunchKernel",
    function,
    ctypes.c_uint(BLOCKS),
    one,
    one,
    ctypes.c_uint(THREADS),
    one,
    one,
    ctypes.c_uint(0),
    ctypes.c_void_p(),
    parameters,
    ctypes.c_void_p(),
)
call("cuCtxSynchronize")
last = ctypes.c_float()
call("cuMemcpyDtoH_v2", ctypes.byref(last), ctypes.c_uint64(data.value + 4 * (COUNT - 1)), ctypes.c_size_t(4))
if last.value != 1.0:
    fail("${PROBE_KERNEL}", "wrote %r, expected 1.0" % last.value)
call("cuMemFree_v2", data)
call("cuDevicePrimaryCtxRelease_v2", device)
print("${PROBE_DONE} %d" % version.value, flush=True)
`;
