"""Math functions of systems, one explicit name each; ``worldloom`` exports all of them."""

from __future__ import annotations

from worldloom.core.arithmetic.functions import FUNCTIONS

abs = FUNCTIONS["abs"]
acos = FUNCTIONS["acos"]
argmax = FUNCTIONS["argmax"]
argmin = FUNCTIONS["argmin"]
asin = FUNCTIONS["asin"]
atan = FUNCTIONS["atan"]
atan2 = FUNCTIONS["atan2"]
cbrt = FUNCTIONS["cbrt"]
ceil = FUNCTIONS["ceil"]
clamp = FUNCTIONS["clamp"]
cos = FUNCTIONS["cos"]
cosh = FUNCTIONS["cosh"]
cross = FUNCTIONS["cross"]
cw_div = FUNCTIONS["cw_div"]
cw_mul = FUNCTIONS["cw_mul"]
ddot = FUNCTIONS["ddot"]
degrees = FUNCTIONS["degrees"]
determinant = FUNCTIONS["determinant"]
diag = FUNCTIONS["diag"]
dot = FUNCTIONS["dot"]
exp = FUNCTIONS["exp"]
floor = FUNCTIONS["floor"]
frac = FUNCTIONS["frac"]
get_diag = FUNCTIONS["get_diag"]
inverse = FUNCTIONS["inverse"]
isfinite = FUNCTIONS["isfinite"]
isinf = FUNCTIONS["isinf"]
isnan = FUNCTIONS["isnan"]
length = FUNCTIONS["length"]
length_sq = FUNCTIONS["length_sq"]
lerp = FUNCTIONS["lerp"]
log = FUNCTIONS["log"]
log10 = FUNCTIONS["log10"]
log2 = FUNCTIONS["log2"]
max = FUNCTIONS["max"]
min = FUNCTIONS["min"]
nonzero = FUNCTIONS["nonzero"]
normalize = FUNCTIONS["normalize"]
outer = FUNCTIONS["outer"]
pow = FUNCTIONS["pow"]
quat_from_axis_angle = FUNCTIONS["quat_from_axis_angle"]
quat_from_matrix = FUNCTIONS["quat_from_matrix"]
quat_identity = FUNCTIONS["quat_identity"]
quat_inverse = FUNCTIONS["quat_inverse"]
quat_rotate = FUNCTIONS["quat_rotate"]
quat_rotate_inv = FUNCTIONS["quat_rotate_inv"]
quat_rpy = FUNCTIONS["quat_rpy"]
quat_slerp = FUNCTIONS["quat_slerp"]
quat_to_matrix = FUNCTIONS["quat_to_matrix"]
radians = FUNCTIONS["radians"]
rint = FUNCTIONS["rint"]
sign = FUNCTIONS["sign"]
sin = FUNCTIONS["sin"]
sinh = FUNCTIONS["sinh"]
skew = FUNCTIONS["skew"]
smoothstep = FUNCTIONS["smoothstep"]
sqrt = FUNCTIONS["sqrt"]
step = FUNCTIONS["step"]
tan = FUNCTIONS["tan"]
tanh = FUNCTIONS["tanh"]
trace = FUNCTIONS["trace"]
transform_get_rotation = FUNCTIONS["transform_get_rotation"]
transform_get_translation = FUNCTIONS["transform_get_translation"]
transform_identity = FUNCTIONS["transform_identity"]
transform_inverse = FUNCTIONS["transform_inverse"]
transform_multiply = FUNCTIONS["transform_multiply"]
transform_point = FUNCTIONS["transform_point"]
transform_vector = FUNCTIONS["transform_vector"]
transpose = FUNCTIONS["transpose"]
trunc = FUNCTIONS["trunc"]

__all__ = [
    "abs",
    "acos",
    "argmax",
    "argmin",
    "asin",
    "atan",
    "atan2",
    "cbrt",
    "ceil",
    "clamp",
    "cos",
    "cosh",
    "cross",
    "cw_div",
    "cw_mul",
    "ddot",
    "degrees",
    "determinant",
    "diag",
    "dot",
    "exp",
    "floor",
    "frac",
    "get_diag",
    "inverse",
    "isfinite",
    "isinf",
    "isnan",
    "length",
    "length_sq",
    "lerp",
    "log",
    "log2",
    "log10",
    "max",
    "min",
    "nonzero",
    "normalize",
    "outer",
    "pow",
    "quat_from_axis_angle",
    "quat_from_matrix",
    "quat_identity",
    "quat_inverse",
    "quat_rotate",
    "quat_rotate_inv",
    "quat_rpy",
    "quat_slerp",
    "quat_to_matrix",
    "radians",
    "rint",
    "sign",
    "sin",
    "sinh",
    "skew",
    "smoothstep",
    "sqrt",
    "step",
    "tan",
    "tanh",
    "trace",
    "transform_get_rotation",
    "transform_get_translation",
    "transform_identity",
    "transform_inverse",
    "transform_multiply",
    "transform_point",
    "transform_vector",
    "transpose",
    "trunc",
]
