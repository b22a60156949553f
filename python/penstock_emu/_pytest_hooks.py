# Part of Penstock, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The hooks of pytest while --kernel-sanitizer is given. Needs the versions of pytest_plugin.NEEDED."""

import collections
import importlib.util
import re

import pytest

from .pytest_plugin import KEY
from .report import TIERS

# Errors of torch that say that an operator is not implemented on the CPU, or that a GPU is needed.
NOT_ON_CPU = re.compile(
    r"not implemented for '|Could not run 'aten::|Torch not compiled with CUDA|Found no NVIDIA driver|"
    r"No CUDA GPUs are available|no NVIDIA GPU|CUDA driver (version|initialization)|"
    r"(only|is) supported (only )?(on|for) (CUDA|GPU)|not supported on CPU|cudaGetDeviceCount|libcuda\.so|"
    r"Cannot initialize CUDA|Expected.* (CUDA|cuda) (tensor|device)|must be a CUDA tensor", re.IGNORECASE)


def short(error):
    """The first line of an error, for a reason."""
    text = str(error).strip() or type(error).__name__
    return re.sub(r"\s+", " ", text.splitlines()[0])[:200]


class Sanitizer:
    """The hooks of a session with --kernel-sanitizer."""

    def __init__(self, options):
        from ._imports import when_imported
        from ._launches import Options
        from ._library import EmulatorError, library
        from ._session import Session, properties_of
        try:
            library()
        except EmulatorError as error:
            raise pytest.UsageError(f"--kernel-sanitizer: {error}") from error
        self.options = options
        self.session = Session(options.kernel_sanitizer_arch, options.kernel_sanitizer_fail_on,
                               Options(options.kernel_sanitizer_timings, options.kernel_sanitizer_max_instructions,
                                       options.kernel_sanitizer_max_memory << 20, options.kernel_sanitizer_blocks))
        self.properties = properties_of(options.kernel_sanitizer_arch)
        self.skips = collections.Counter()
        self.workers = []
        self.host = None
        if importlib.util.find_spec("torch"):
            try:
                from ._torch_host import Host
            except (ImportError, OSError) as error:
                raise pytest.UsageError(f"--kernel-sanitizer: torch cannot be imported: {error}") from error
            self.host = Host(self.properties, self.session.known, self.session.options.max_bytes)
        when_imported("triton", self.install_triton)
        when_imported("tilelang", self.install_tilelang)
        when_imported("cutlass.cute", self.install_cute)

    def install_triton(self):
        from . import _triton_driver
        _triton_driver.install(self.session.arch, self.properties, self.session.launched)

    def install_tilelang(self):
        from . import _tilelang_host
        _tilelang_host.install(self.session.arch, self.properties, self.session.launched)

    def install_cute(self):
        from . import _cute_host
        _cute_host.install()

    def restore(self):
        if self.host is not None:
            self.host.restore()

    # Tests

    def reason(self, error):
        """Why a test cannot run, or None if the error is the test's."""
        from ._launches import Unsupported
        from ._library import EmulatorError
        while error is not None:
            if isinstance(error, Unsupported):
                return str(error)
            if isinstance(error, EmulatorError):
                return "the emulator does not run the kernel: " + short(error)
            if isinstance(error, (RuntimeError, NotImplementedError, AssertionError)) and NOT_ON_CPU.search(str(error)):
                return "torch needs a GPU: " + short(error)
            error = error.__cause__ or error.__context__
        return None

    def run(self, item):
        """Runs a phase of a test. Findings make it fail; what the emulator cannot run is skipped."""
        from .report import FindingsError
        if self.host is not None:
            self.host.ensure()
        try:
            result = yield
        except FindingsError as error:
            pytest.fail(str(error).strip(), pytrace=False)
        except Exception as error:
            if findings := self.session.failing():
                pytest.fail(f"{findings}\n\nThe test also failed: {type(error).__name__}: {short(error)}", pytrace=False)
            if reason := self.reason(error):
                pytest.skip("kernel-sanitizer: " + reason)
            raise
        if findings := self.session.failing():
            pytest.fail(findings, pytrace=False)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item):
        self.session.begin()
        return (yield from self.run(item))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        try:
            return (yield from self.run(item))
        finally:  # in the files of --junitxml
            item.user_properties.append(("kernel_sanitizer_launches", self.session.launches))
            item.user_properties.append(("kernel_sanitizer_findings", len(self.session.current)))

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector):
        if self.host is not None:
            self.host.ensure()
        return (yield)

    # The end

    def pytest_runtest_logreport(self, report):
        if report.skipped and isinstance(report.longrepr, tuple):
            self.skips[report.longrepr[2].removeprefix("Skipped: ")] += 1

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node, error):
        output = getattr(node, "workeroutput", None)
        if output and KEY in output:
            self.workers.append(output[KEY])

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session):
        worker = getattr(session.config, "workeroutput", None)
        if worker is not None:
            worker[KEY] = self.session.summary()
        for path in self.options.kernel_sanitizer_report:
            if worker is not None:  # one for each process of pytest-xdist
                head, dot, ending = path.rpartition(".")
                path = f"{head or ending}-{session.config.workerinput['workerid']}{dot}{ending if head else ''}"
            if not (self.workers and not self.session.kernels):
                self.session.save(path)

    def kernels(self):
        """Counts of all processes: name -> language, launches, seconds, findings."""
        merged = {}
        for summary in [self.session.summary(), *self.workers]:
            for name, count in summary.items():
                into = merged.setdefault(name, dict(count, findings=dict.fromkeys(TIERS, 0), launches=0, seconds=0.0))
                into["launches"] += count["launches"]
                into["seconds"] += count["seconds"]
                for tier in TIERS:
                    into["findings"][tier] = max(into["findings"][tier], count["findings"][tier])
        return merged

    def pytest_terminal_summary(self, terminalreporter):
        line = terminalreporter.write_line
        kernels = self.kernels()
        terminalreporter.section("kernel sanitizer")
        if kernels:
            width = max(len(name) for name in kernels)
            line(f"{'kernel':{width}}  language  launches  seconds  wrong  undefined  notes")
            for name, count in sorted(kernels.items()):
                found = count["findings"]
                line(f"{name:{width}}  {count['language']:8}  {count['launches']:8}  {count['seconds']:7.2f}  "
                     f"{found['wrong']:5}  {found['undefined']:9}  {found['note']:5}")
        if self.skips:
            line("skipped:")
            for reason, number in self.skips.most_common():
                line(f"{number:5}  {reason}")
        launches = sum(count["launches"] for count in kernels.values())
        findings = sum(sum(count["findings"].values()) for count in kernels.values())
        line(f"sm_{self.session.arch}: {len(kernels)} kernels, {launches} launches, {findings} findings, "
             f"{sum(self.skips.values())} skipped; tests fail on findings of tier {self.session.fail_on}")
        if self.session.sampled:
            line(f"{self.session.sampled} launches have more than {self.session.options.blocks} blocks: all ran for their "
                 "results, a sample was checked. Conflicts with other blocks are not covered; --kernel-sanitizer-blocks all "
                 "checks all blocks:")
            for name, (number, checked, which) in sorted(self.session.samples.items()):
                line(f"  {name}: {checked} of {number} blocks: {which}")
        if self.session.unsampled:
            line(f"{self.session.unsampled} launches ran unchecked: their blocks wait for each other, so that a sample cannot "
                 "run; --kernel-sanitizer-blocks all checks them")
        if self.session.serialized:
            line(f"{self.session.serialized} launches with programmatic dependent launch ran after their predecessor, "
                 "without overlap")
        for path in self.options.kernel_sanitizer_report:
            line(f"report: {path}")
