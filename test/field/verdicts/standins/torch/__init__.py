# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of torch that TileLang needs when it is imported and when it compiles. Saves 4 GB of packages; computes nothing."""

import importlib.machinery
import sys
import types

__version__ = "2.9.0"


class dtype:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return "torch." + self.name


for _names in (("bool",), ("uint8",), ("int8",), ("int16", "short"), ("int32", "int"), ("int64", "long"), ("uint16",), ("uint32",),
               ("uint64",), ("float16", "half"), ("bfloat16",), ("float32", "float"), ("float64", "double"),
               ("float8_e4m3fn",), ("float8_e4m3fnuz",), ("float8_e5m2",), ("float8_e5m2fnuz",), ("float8_e8m0fnu",),
               ("float4_e2m1fn_x2",), ("complex64",), ("complex128",)):
    globals().update(dict.fromkeys(_names, dtype(_names[0])))


class Missing:
    """A class of torch: it exists, so that annotations and isinstance work, and has no objects."""

    def __class_getitem__(cls, _):
        return cls


class device(Missing):
    pass


class Tensor(Missing):
    pass


class _Version:
    hip = None
    cuda = "13.0"


class _Module(types.ModuleType):
    """A module whose unknown names are submodules or classes."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(name, (Missing,), {}) if name[:1].isupper() else _Module(f"{self.__name__}.{name}")
        setattr(self, name, made)
        return made

    def __call__(self, *arguments, **_):
        """A function that says no, or a decorator."""
        return arguments[0] if arguments and callable(arguments[0]) else None


class _Finder:
    """Imports any submodule of torch."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if not name.startswith("torch."):
            return None
        return importlib.machinery.ModuleSpec(name, _Finder, is_package=True)

    @staticmethod
    def create_module(spec):
        made = _Module(spec.name)
        made.__path__ = []
        return made

    @staticmethod
    def exec_module(module):
        pass


sys.meta_path.append(_Finder)
version = _Version()


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    made = type(name, (Missing,), {}) if name[:1].isupper() else _Module("torch." + name)
    globals()[name] = made
    return made
