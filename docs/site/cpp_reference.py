"""Pages of the C++ reference, one for each public header, from Doxygen's XML.

A page has the header's own introduction, then its types with public members,
then its functions. Namespace `detail` is internal, except the classes behind
members such as `b.tma`, which are shown with that member's name. Parameters of
internal types are shown as the public types that convert to them.

Examples are parts of the C++ files in docs/site/examples, which a test compiles: a
comment `// example: NAME, NAME` names the functions that the lines below it, up
to the next such comment, show.
"""
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

INTERNAL = {"record.h", "callback.h", "export.h", "list.h", "penstock.h"}
# A call that the compiler refuses with an explanation is not part of the API.
REFUSED = re.compile(r"PENSTOCK_[A-Z]+")  # docs/build-site makes the macro that marks it PENSTOCK_REFUSED


def escaped(prose):
    """Prose whose angle brackets are not HTML; code in backticks is left alone."""
    parts = re.split(r"(`[^`]*`)", prose)
    return "".join(p if p.startswith("`") else p.replace("<", "&lt;") for p in parts)


def text_of(element):
    """The prose of a description: paragraphs, with code in backticks."""
    if element is None:
        return ""

    def inline(node):
        parts = [node.text or ""]
        for child in node:
            if child.tag == "computeroutput":
                parts.append(f"`{''.join(child.itertext())}`")
            elif child.tag == "itemizedlist":
                parts.append("\n\n" + "".join("- " + " ".join("".join(i.itertext()).split()) + "\n" for i in child) + "\n")
            elif child.tag in ("parameterlist", "simplesect"):
                parts.append("")
            else:
                parts.append(inline(child))
            parts.append(child.tail or "")
        return "".join(parts)

    paragraphs = [inline(p).strip() for p in element.findall("para")]
    return escaped("\n\n".join(p for p in paragraphs if p))


def description(member):
    both = [text_of(member.find("briefdescription")), text_of(member.find("detaileddescription"))]
    return "\n\n".join(p for p in both if p)


def plain(element):
    return " ".join("".join(element.itertext()).split()) if element is not None else ""


# Internal types of parameters, and what users pass.
SHOWN = (
    (r"std::type_identity_t<\s*detail::(?:ScalarParameter|ScalarArg)<\s*(\w+)\s*>\s*>", r"Scalar<\1>"),
    (r"(?:const )?std::type_identity_t<\s*detail::IndexArg\s*>", "Index"),
    (r"detail::(?:ScalarParameter|ScalarArg)<\s*([\w_]+)\s*>", r"Scalar<\1>"),
    (r"detail::IndexArg", "Index"),
    (r"detail::ExprArg<\s*(\w+)\s*>", r"Expr<\1>"),
    (r"typename (?:penstock::)?detail::ArgumentTraits<\s*A\s*>::Host", "Host<A>"),
    (r"(?:penstock::)?detail::List<\s*const (?:penstock::)?detail::Argument\s*>", "List<const Argument>"),
    (r"\bArg (?=\w)", "Index "),
    (r"\bExprIndex\b", "Expr<index_t>"),
    (r"detail::TunedFor<\s*K\s*>", "TunedOf<..>"),
    (r"(?:penstock::)?detail::(LoopRange|Argument|\w+Calls)\b", r"\1"),
)
# Functions that only the library calls: they take its handles.
LIBRARY_ONLY = re.compile(r"detail::(Ref|ExecutableRef|TuningSpace|KernelSource)\b|detail::TunedKernel|uint32_t recording|"
                          r"detail::nv::")


def tidy(code):
    code = re.sub(r"\s+", " ", code)
    for internal, public in SHOWN:
        code = re.sub(internal, public, code)
    return re.sub(r"< ", "<", re.sub(r" >", ">", code)).replace(" &", " &").strip()


def signature(member):
    template = member.find("templateparamlist")
    head = ""
    if template is not None:
        parameters = ", ".join(
            " ".join(filter(None, (plain(p.find("type")), plain(p.find("declname"))))) for p in template.findall("param"))
        head = f"template <{parameters}> "
    type_ = plain(member.find("type"))
    name = member.findtext("name")
    return tidy(f"{head}{type_ + ' ' if type_ else ''}{name}{member.findtext('argsstring') or ''}") + ";"


def usable(member):
    if member.get("kind") == "function" and LIBRARY_ONLY.search(member.findtext("argsstring") or ""):
        return False
    whole = " ".join((plain(member.find("type")), member.findtext("definition") or "", member.findtext("argsstring") or ""))
    return not REFUSED.search(whole) and "=delete" not in whole and not (member.findtext("name") or "").startswith("~")


def grouped(members):
    """Functions by name, in source order."""
    groups = {}
    for member in members:
        groups.setdefault(member.findtext("name"), []).append(member)
    return groups.items()


EXAMPLE = re.compile(r"^// example: ((?:.*,\n// )*.*)\n", re.M)


def read_examples(folder):
    """The code of each example by the names that it shows."""
    examples = {}
    for file in sorted(os.listdir(folder)):
        parts = EXAMPLE.split(open(os.path.join(folder, file), encoding="utf-8").read())
        for names, code in zip(parts[1::2], parts[2::2]):
            code = code.split("\n// end", 1)[0].strip("\n")
            for name in re.split(r",\s+(?://\s+)?", names):
                examples.setdefault(name, code)
    return examples


def functions(members, level, owner="", examples=None, full=""):
    """Sections of functions. Those with one example share it."""
    out, shown = "", {}
    for name, overloads in grouped(m for m in members if m.get("kind") == "function" and usable(m)):
        heading = name.replace("<", "&lt;")
        out += f"\n{level} {owner}{heading}\n\n```cpp\n" + "\n".join(signature(m) for m in overloads) + "\n```\n"
        seen = []
        for member in overloads:
            prose = description(member)
            if prose and prose not in seen:
                seen.append(prose)
        out += "".join(f"\n{prose}\n" for prose in seen)
        if code := (examples or {}).get(full + name):
            if code in shown:
                out += f"\nExample: see `{shown[code]}`.\n"
            else:
                shown[code] = owner + name
                out += f"\n```cpp\n{code}\n```\n"
    return out


def fields(members):
    rows = ""
    for member in members:
        if member.get("kind") != "variable" or not usable(member):
            continue
        if re.match(r"(const )?(detail::\w+|uint32_t recorder)", plain(member.find("type")) + " " + member.findtext("name")) and \
                not plain(member.find("initializer")):
            continue  # the handle of the recorder; members such as `b.tma` have sections of their own
        declared = tidy(f"{plain(member.find('type'))} {member.findtext('name')} {plain(member.find('initializer'))}")
        prose = " ".join(description(member).split()).replace("|", "\\|")
        declared = declared.replace("|", "\\|")
        rows += f"| `{declared}` | {prose} |\n"
    return f"\n| field | |\n|---|---|\n{rows}" if rows else ""


def enums(members, level):
    out = ""
    for member in members:
        if member.get("kind") != "enum" or not member.findtext("name"):
            continue
        values = [v.findtext("name") for v in member.findall("enumvalue")]
        out += f"\n{level} {member.findtext('name')}\n\n{description(member)}\n\nValues: "
        out += ", ".join(f"`{v}`" for v in values) + ".\n"
    return out


class Reference:
    def __init__(self, xml, headers, examples):
        self.headers = headers
        self.examples = read_examples(examples)
        self.compounds, self.members, self.calls = {}, {}, {}
        for file in sorted(os.listdir(xml)):
            if not re.match(r"(class|struct|namespace)\w*\.xml$", file):
                continue
            compound = ElementTree.parse(os.path.join(xml, file)).getroot().find("compounddef")
            name = compound.findtext("compoundname")
            if compound.get("kind") == "namespace":
                if "detail" not in name and name.startswith("penstock"):
                    for member in compound.iter("memberdef"):
                        self.members.setdefault(self.header_of(member), []).append(member)
            elif "detail" not in name or name.endswith("Calls"):
                if name.startswith("penstock::"):
                    self.compounds.setdefault(self.header_of(compound), []).append(compound)
            if name == "penstock::Block":
                for member in compound.iter("memberdef"):
                    found = re.fullmatch(r"(?:penstock::)?detail::(\w+Calls)", plain(member.find("type")))
                    if found:
                        self.calls[found.group(1)] = member.findtext("name")

    @staticmethod
    def header_of(element):
        return os.path.basename(element.find("location").get("file"))

    def name_of(self, compound):
        return compound.findtext("compoundname").removeprefix("penstock::").replace("detail::", "")

    @staticmethod
    def public_members(compound):
        members = [m for s in compound.findall("sectiondef") if (s.get("kind") or "").startswith(("public", "user-defined"))
                   for m in s.findall("memberdef") if m.get("prot") == "public"]
        return sorted(members, key=lambda m: int(m.find("location").get("line")))

    def example_prefix(self, compound):
        """Prefix of a member in an example: `Block::`, or `tma.` for `b.tma`."""
        name = self.name_of(compound)
        return f"{self.calls[name]}." if name in self.calls else re.sub(r"<.*", "", name).strip() + "::"

    def compound(self, compound):
        name = self.name_of(compound)
        owner = ""
        if name in self.calls:
            owner, title = f"b.{self.calls[name]}.", f"b.{self.calls[name]}"
        else:
            title = name.replace("< ", "<").replace(" >", ">").replace("<", "&lt;")
        members = self.public_members(compound)
        prose = description(compound)
        body = fields(members) + enums(members, "####") + functions(members, "####", owner, self.examples,
                                                                     self.example_prefix(compound))
        return f"\n### {title}\n\n{prose}\n{body}" if prose or body else ""

    def page(self, header):
        text = open(os.path.join(self.headers, header), encoding="utf-8").read()
        title = re.match(r"//===- (\S+) - (.*?) -*\*- C", text)
        intro = re.search(r"//===-+===//\n//\n(// .*?)//\n//===-+===//\n#ifndef", text, re.S)
        page = f"# {header}: {title.group(2).strip()}\n\n`#include <penstock/{header}>`\n"
        if intro:
            page += "\n" + escaped(re.sub(r"^// ?", "", intro.group(1), flags=re.M).rstrip()) + "\n"
        line = lambda e: int(e.find("location").get("line"))
        types = "".join(self.compound(c) for c in sorted(self.compounds.get(header, []), key=line))
        free = sorted(self.members.get(header, []), key=line)
        values = enums(free, "###")
        if types or values:
            page += "\n## Types\n" + values + types
        if calls := functions(free, "###", examples=self.examples):
            page += "\n## Functions\n" + calls
        return page


    def all_functions(self, header):
        """(name of its example, signatures, description) of each function on the page of a header."""
        for compound in self.compounds.get(header, []):
            prefix = self.example_prefix(compound)
            for group in self.groups(self.public_members(compound)):
                yield (prefix + group[0], *group[1:])
        yield from self.groups(self.members.get(header, []))

    @staticmethod
    def groups(members):
        for name, overloads in grouped(m for m in members if m.get("kind") == "function" and usable(m)):
            yield name, [signature(m) for m in overloads], " ".join(description(m) for m in overloads).strip()


def doxygen(headers, folder):
    """Writes the public headers as XML; returns its folder."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    # The macro that marks calls which compilers refuse with an explanation.
    macro = re.search(r"#define (\w+)\(TEXT\) __attribute__\(\(unavailable", open(os.path.join(headers, "export.h")).read())
    configuration = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "Doxyfile")).read()
    configuration += f"INPUT = {headers}\nOUTPUT_DIRECTORY = {folder}\n"
    configuration += f'PREDEFINED += "{macro.group(1)}(x)=PENSTOCK_REFUSED"\n'
    subprocess.run(["doxygen", "-"], input=configuration, text=True, check=True, stderr=subprocess.DEVNULL)
    return os.path.join(folder, "xml")


def page_names(headers):
    return sorted(n for n in os.listdir(headers) if n.endswith(".h") and n not in INTERNAL)


def write_pages(xml, headers, examples, write):
    """Calls write(path, text) for each page; returns the headers that have one."""
    reference = Reference(xml, headers, examples)
    names = page_names(headers)
    # What a kernel uses first, in the order in which it is learned.
    first = ["block.h", "loops.h", "tile.h", "scalar.h", "view.h", "compile.h", "launch.h", "hardware.h", "pipeline.h"]
    names = [n for n in first if n in names] + [n for n in names if n not in first]
    listing = ""
    for name in names:
        text = reference.page(name)
        write(f"cpp/{name}.md", text)
        listing += f"| [{name}]({name}.md) | {text.split(chr(10), 1)[0].split(': ', 1)[1]} |\n"
    write("cpp/index.md", "# C++ reference\n\n`#include <penstock/penstock.h>` includes what a kernel needs. Pages are "
          "generated from the public headers.\n\nParameters of type `Scalar<T>`, `Index` and `Expr<T>` also take numbers of C++ and "
          "a `Var`. `Host<A>` is an argument on the host: a `TensorView` for a tensor, else a number.\n\n| header | |\n|---|---|\n" + listing)
    return names
