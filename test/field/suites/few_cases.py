# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A plugin of pytest: keeps some random cases of each parametrized test, the same ones each time. --cases N; 0: all."""

import collections
import random


def pytest_addoption(parser):
    parser.addoption("--cases", type=int, default=0)


def pytest_collection_modifyitems(config, items):
    most = config.getoption("cases")
    if not most:
        return
    groups = collections.OrderedDict()
    for item in items:
        groups.setdefault(item.nodeid.split("[")[0], []).append(item)
    chosen = set()
    for name, group in groups.items():
        chosen.update(random.Random(name).sample(group, min(most, len(group))))
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]
