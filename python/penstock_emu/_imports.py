# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls functions when modules have been imported, so that packages that no test uses are not loaded."""

import importlib.abc
import importlib.util
import sys


class After(importlib.abc.Loader):
    """A module's loader, and a function to call afterwards."""

    def __init__(self, loader, then):
        self.loader, self.then = loader, then

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        self.then()


class Finder(importlib.abc.MetaPathFinder):

    def __init__(self):
        self.waiting = {}

    def find_spec(self, name, path=None, target=None):
        then = self.waiting.pop(name, None)
        if then is None:
            return None
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = After(spec.loader, then)
        return spec


finder = Finder()


def when_imported(name, then):
    """Calls `then` after the import of a module, or now."""
    if name in sys.modules:
        then()
        return
    if finder not in sys.meta_path:
        sys.meta_path.insert(0, finder)
    finder.waiting[name] = then
