"""A page for each diagnostic code: meaning, cause, example, fix.

Meanings come from lib/Diagnostics/Codes.def, causes and fixes from
docs/site/diagnostics.toml, examples from test/diagnostics, where each file is an
invalid program or text that ends with the complete message, from the scheduling
instances of the pages, which are tests, too, and from messages that the guide shows.
"""
import glob
import os
import re
import tomllib

EXAMPLES = 3  # at most, of one kind


def codes_of(root):
    """(name, number, meaning, section) for each code."""
    definitions = open(os.path.join(root, "lib/Diagnostics/Codes.def"), encoding="utf-8").read()
    ranges = re.search(r"Ranges: (.*?)\.\n", definitions, re.S).group(1)
    titles = dict(re.findall(r"(\d\d)xx ([^,]+)", re.sub(r"\s*\n//\s*", " ", ranges)))
    for name, number, meaning in re.findall(r'^PENSTOCK_CODE\((\w+),\s*(\d+),\s*"(.*)"\)', definitions, re.M):
        yield name, int(number), meaning, titles.get(f"{int(number):04d}"[:2], "others")


def programs(root):
    """code -> [(file, program, message)]"""
    found = {}
    for path in sorted(glob.glob(os.path.join(root, "test/diagnostics/*-*.cpp"))):
        text = open(path, encoding="utf-8").read()
        message = "\n".join(re.findall(r"^// EXPECT: ?(.*)$", text, re.M))
        # Line numbers of the message are those of the file.
        lines = [line for line in text.split("\n") if not line.startswith("// EXPECT:")]
        first = next(i for i, line in enumerate(lines) if line.startswith("#include"))
        while not lines[first].strip() or lines[first].startswith('#include "'):
            first += 1
        # The macro of the tests as a function, as wide as its name: carets stay in their columns.
        program, message = (part.replace("WRONG_PROGRAM", "void wrong() ")
                            for part in ("\n".join(lines[first:]).rstrip(), message))
        for code in sorted(set(re.findall(r"(?:error|warning) PS(\d+)", message))):
            found.setdefault(int(code), []).append((os.path.basename(path), first + 1, program, message))
    return found


def texts(root):
    """code -> [(file, command, text, message)], from test/diagnostics/text."""
    found = {}
    for path in sorted(glob.glob(os.path.join(root, "test/diagnostics/text/*"))):
        text = open(path, encoding="utf-8").read()
        run = re.match(r"(//|#) RUN: (.*)\n", text)
        if not run:
            continue
        file = os.path.basename(path)
        message = "\n".join(re.findall(rf"^{run[1]} EXPECT: ?(.*)$", text, re.M))
        program = re.sub(rf"^{run[1]} (RUN|EXPECT):.*\n", "", text, flags=re.M).strip("\n")
        for code in sorted(set(re.findall(r"(?:error|warning|note) PS(\d+)", message))):
            found.setdefault(int(code), []).append((file, run[2].replace("%s", file), program, message))
    return found


def instances(root):
    """code -> [(page, instance, verdict)], from the ```instance blocks."""
    found = {}
    for page in ("contributing/pipelining-cases.md", "contributing/scheduling-instances.md"):
        text = open(os.path.join(root, "docs", page), encoding="utf-8").read()
        for block, verdicts in re.findall(r"```instance\n(.*?)```\s+```verdict\n(.*?)```", text, re.S):
            loops = {name: loop for loop, name in re.findall(r"^(loop (\w+) \{.*?^\})", block, re.S | re.M)}
            for name, verdict in re.findall(r"^(\w+): (.*)$", verdicts, re.M):
                for code in re.findall(r"PS(\d+)", verdict):
                    found.setdefault(int(code), []).append((page, loops[name], f"{name}: {verdict}"))
    return found


def messages(root):
    """code -> [(page, message)], from blocks of the guide that show a message."""
    found = {}
    for page in ("README.md", "docs/reference/explicit.md", "docs/how-to/checking.md", "docs/how-to/mutate.md", "docs/tutorials/explicit-kernels.md",
                 "docs/tutorials/explicit-kernels-2.md", "docs/tutorials/explicit-kernels-3.md"):
        text = open(os.path.join(root, page), encoding="utf-8").read()
        for block in re.findall(r"^```(?:text)?\n(.*?)^```", text, re.S | re.M):
            for code in re.findall(r"^(?:\S+:\d+: )?error PS(\d+)", block, re.M):
                found.setdefault(int(code), []).append((page.removeprefix("docs/"), block.rstrip()))
    return found


def write_pages(root, write):
    """Calls write(path, text) for each page; returns {section: [(code, name)]}."""
    with open(os.path.join(root, "docs/site/diagnostics.toml"), "rb") as file:
        notes = tomllib.load(file)
    by_program, by_instance, by_message, by_text = programs(root), instances(root), messages(root), texts(root)
    sections, seen = {}, set()
    for name, number, meaning, section in codes_of(root):
        code = f"PS{number:04d}"
        if code not in notes or set(notes[code]) - {"cause", "fix", "see"} or not {"cause", "fix"} <= set(notes[code]):
            raise SystemExit(f"docs/site/diagnostics.toml: {code} needs a cause and a fix, and may have a see")
        seen.add(code)
        note = notes[code]
        text = f"# {code}: {meaning}\n\nName in C++: `{name}`. Section: {section}.\n\n"
        text += f"## Cause\n\n{note['cause'].strip()}\n\n## Fix\n\n{note['fix'].strip()}\n"
        examples = by_program.get(number, [])[:EXAMPLES]
        loops = by_instance.get(number, [])[:EXAMPLES]
        shown = by_message.get(number, [])[:EXAMPLES] if not examples else []
        rejected = by_text.get(number, [])[:EXAMPLES]
        if not (examples or loops or shown or rejected or "see" in note):
            raise SystemExit(f"{code} has no example: add one to test/diagnostics, or a see that says where it is described")
        text += "\n## Example\n"
        for file, line, program, message in examples:
            text += f'\n```cpp title="{file}" linenums="{line}"\n{program}\n```\n\nreports\n\n```text\n{message}\n```\n'
        for file, command, program, message in rejected:
            # Line 1 of the file is its command.
            text += f'\n```text title="{file}" linenums="2"\n{program}\n```\n\n`{command}` reports\n\n```text\n{message}\n```\n'
        for page, loop, verdict in loops:
            text += f"\nFrom [{os.path.basename(page)}](../{page}):\n\n```text\n{loop}\n```\n\n```text\n{verdict}\n```\n"
        for page, message in shown:
            title = "index.md" if page == "README.md" else page
            text += f"\nFrom [{os.path.basename(page).removesuffix('.md')}](../{title}):\n\n```text\n{message}\n```\n"
        if "see" in note:
            text += f"\n{note['see'].strip()}\n"
        write(f"diagnostics/{code}.md", text)
        sections.setdefault(section, []).append((code, name))
    if set(notes) - seen:
        raise SystemExit(f"docs/site/diagnostics.toml has codes that do not exist: {sorted(set(notes) - seen)}")
    return sections


def link_codes(text):
    """The list of codes with a link to the page of each."""
    return re.sub(r"^\| (PS\d+) \|", r"| [\1](../diagnostics/\1.md) |", text, flags=re.M)


def link_cells(text):
    """The table of status with links to the pages of codes."""
    return re.sub(r"\[(PS\d+)\]\(diagnostics\.md\)", r"[\1](../diagnostics/\1.md)", text)
