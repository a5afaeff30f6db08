"""The checks of tools/ find what they are there to find."""

from pathlib import Path

import pytest

from tools import check_docs, check_includes, check_public, check_sources

ROOT = Path(__file__).resolve().parent.parent.parent


def write(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return Path(name)


def test_an_include_that_points_back_is_found_with_its_line(tmp_path: Path) -> None:
    file = write(tmp_path, "src/data/x.cpp", '#include <vector>\n#include "hierarchy/y.hpp"\n')
    assert check_includes.violations(tmp_path, [file]) == [
        "src/data/x.cpp:2: data must not include hierarchy/y.hpp"
    ]


def test_a_private_header_in_a_public_one_is_found(tmp_path: Path) -> None:
    file = write(tmp_path, "include/margrove/label_graph.hpp", '#include "base/tensors.hpp"\n')
    assert check_includes.violations(tmp_path, [file]) == [
        "include/margrove/label_graph.hpp:1: a public header must not include base/tensors.hpp"
    ]


def test_a_public_header_without_a_part_is_found(tmp_path: Path) -> None:
    file = write(tmp_path, "include/margrove/novelty.hpp", "")
    assert len(check_includes.violations(tmp_path, [file])) == 1


def test_includes_of_earlier_parts_and_of_the_own_part_are_fine(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        "src/hierarchy/x.cpp",
        '#include "margrove/errors.hpp"\n#include "hierarchy/y.hpp"\n',
    )
    assert check_includes.violations(tmp_path, [file]) == []


def test_parts_of_one_rank_do_not_include_one_another(tmp_path: Path) -> None:
    file = write(tmp_path, "src/io/x.cpp", '#include "margrove/significance.hpp"\n')
    assert len(check_includes.violations(tmp_path, [file])) == 1


def test_a_part_that_is_not_in_the_order_is_found(tmp_path: Path) -> None:
    file = write(tmp_path, "src/misc/x.cpp", "")
    assert check_includes.violations(tmp_path, [file]) == [
        "src/misc/x.cpp: 'misc' is not in the order of the parts"
    ]


def test_the_order_of_parts_has_every_part_of_the_build() -> None:
    build = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    listed = build.split("set(MARGROVE_PARTS ")[1].split(")")[0].split()
    assert (
        sorted(check_includes.RANKS, key=check_includes.RANKS.__getitem__)[: len(listed)] == listed
    )


def test_printing_exiting_and_standard_distributions_are_found() -> None:
    text = (
        "std::cout << 1;  // a\nstd::exit(1);\n"
        "std::normal_distribution<> d;\n#pragma omp parallel\n"
    )
    assert check_sources.errors_in(Path("src/x.cpp"), text) == [
        "src/x.cpp:1: the library prints",
        "src/x.cpp:2: the library exits",
        "src/x.cpp:3: the library std random numbers",
        "src/x.cpp:4: the library OpenMP threads (use margrove/executor.hpp)",
    ]


def test_comments_and_simd_pragmas_are_fine() -> None:
    text = "// std::cout\n#pragma omp simd reduction(+ : sum)\nsnprintf(b, n, f);\n"
    assert check_sources.errors_in(Path("src/x.cpp"), text) == []


def test_constants_that_hide_one_of_a_header_are_found() -> None:
    texts = {
        Path(
            "src/a/a.hpp"
        ): "inline constexpr std::size_t kLanes = 16;\nconstexpr int kOther = 1;\n",
        Path("src/b/b.cpp"): "constexpr int kLanes = 4;\nconstexpr int kOwn = 1;\n",
    }
    assert check_sources.hidden_constants(texts) == [
        "src/b/b.cpp: the constant kLanes has the name of one of src/a/a.hpp"
    ]


def test_decisions_by_the_kind_of_rows_are_found() -> None:
    text = "if (a) return;\nif (rows.kind() == RowKind::records) b();\n  case RowKind::numbers:\n"
    assert check_sources.decisions_by_kind(Path("src/cli/x.cpp"), text) == [
        "src/cli/x.cpp:2: decides by the kind of rows, which DECIDE_BY_KIND alone may",
        "src/cli/x.cpp:3: decides by the kind of rows, which DECIDE_BY_KIND alone may",
    ]
    assert check_sources.decisions_by_kind(Path("src/data/row_formats.cpp"), text) == []
    assert check_sources.decisions_by_kind(Path("src/cli/x.cpp"), "kind = RowKind::records;") == []
    assert check_sources.decisions_by_kind(Path("src/cli/x.cpp"), "return RowKind::records;") != []


def test_a_header_without_pragma_once_is_found() -> None:
    assert check_sources.errors_in(Path("include/x.hpp"), "") == ["include/x.hpp: no #pragma once"]


CPP_FUNCTION = (
    "class A : B<C> {{\n  void f(int x) const {{\n    if (x) {{ g(); }}\n{body}  }}\n}};\n"
)


def test_a_long_cpp_function_needs_a_reason() -> None:
    short = CPP_FUNCTION.format(body="    g();\n" * 57)
    assert check_sources.long_functions(Path("src/x.cpp"), short) == []
    long = CPP_FUNCTION.format(body="    g('{', \"{\");  // {\n" * 58)
    assert check_sources.long_functions(Path("src/x.cpp"), long) == [
        "src/x.cpp:2: a function of 61 lines: shorten it, or say before it 'Longer than 60 lines: "
        "REASON'"
    ]
    reason = long.replace("  void", "  // Longer than 60 lines: a table.\n  void")
    assert check_sources.long_functions(Path("src/x.cpp"), reason) == []


def test_a_long_python_function_needs_a_reason_but_a_long_docstring_none() -> None:
    documented = 'def f():\n    """One.\n' + "\n" * 60 + '    """\n    g()\n'
    assert check_sources.long_functions(Path("python/x.py"), documented) == []
    long = "def f():\n" + "    g()\n" * 60
    assert len(check_sources.long_functions(Path("python/x.py"), long)) == 1
    reason = "# Longer than 60 lines: a table.\n" + long
    assert check_sources.long_functions(Path("python/x.py"), reason) == []


def test_blocks_know_their_words_text_and_line() -> None:
    page = "a\n```sh run\necho 1\n```\n```text output\n1\n```\n"
    assert check_docs.blocks_of(page) == [
        check_docs.Block(["sh", "run"], "echo 1\n", 2),
        check_docs.Block(["text", "output"], "1\n", 5),
    ]


def test_quotes_must_equal_their_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_docs, "ROOT", tmp_path)
    (tmp_path / "a.cpp").write_text("int a;\nint b;\n", encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text("```cpp of=a.cpp\n```\n```cpp of=a.cpp\nint c;\n```\n", encoding="utf-8")
    assert check_docs.check_page(page)[1] == [
        f"page.md:{line}: a.cpp differs; tools/check_docs.py --quote copies it" for line in (1, 3)
    ]
    check_docs.quote_files(page)
    assert check_docs.check_page(page) == (0, [])
    (tmp_path / "a.cpp").unlink()
    assert len(check_docs.check_page(page)[1]) == 2


def test_quoted_lines_must_be_in_their_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_docs, "ROOT", tmp_path)
    (tmp_path / "a.cpp").write_text("int a;\nint b;\n", encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text("```cpp part-of=a.cpp\nint b;\n```\n", encoding="utf-8")
    assert check_docs.check_page(page) == (0, [])
    page.write_text("```cpp part-of=a.cpp\nint c;\n```\n", encoding="utf-8")
    assert check_docs.check_page(page)[1] == ["page.md:1: a.cpp has no such lines"]


def test_output_is_compared_up_to_wildcards() -> None:
    assert check_docs.matches("a\n...\nz … s\n", "a\nb\nc\nz 1.5 s\n")
    assert check_docs.matches("a\n...\nb\n", "a\nb\n")
    assert not check_docs.matches("a\nb\n", "a\nc\n")
    assert not check_docs.matches("a\n", "a\nb\n")
    assert not check_docs.matches("a.c\n", "abc\n")


def test_a_failing_command_and_a_wrong_output_are_reported(tmp_path: Path) -> None:
    page = check_docs.ROOT / "build" / f"{tmp_path.name}.md"
    page.parent.mkdir(exist_ok=True)
    page.write_text(
        "```sh run\necho 1\n```\n```text output\n2\n```\n```sh run\nfalse\n```\n", encoding="utf-8"
    )
    try:
        runs, errors = check_docs.check_page(page)
    finally:
        page.unlink()
    assert runs == 2
    assert [error.split(": ", 1)[1].split("\n")[0] for error in errors] == [
        "the command printed",
        "exit code 1",
    ]


def test_public_names_are_types_functions_concepts_and_constants(tmp_path: Path) -> None:
    write(
        tmp_path,
        "include/margrove/x.hpp",
        """
        namespace margrove MARGROVE_API {  // namespace of all
        class Ahead;
        struct Plain final : Base { int member(int); };
        enum class Kind { a, b };
        template <class T>
        concept Fits = requires(const T& t) { { t.f() } -> std::same_as<int>; };
        template <>
        inline constexpr auto kNames<Kind> = std::array{1};
        inline const Range positive{[](double x) { return x > 0; }, "> 0"};
        using Id = std::uint32_t;
        std::vector<double> sums(const Plain& plain, std::span<const int> more = {}, Id id = {});
        double sums(int other);
        namespace detail { void hidden(); }
        }
        """,
    )
    assert check_public.public_names(tmp_path) == {
        "x.hpp": ["Ahead", "Fits", "Id", "Kind", "Plain", "positive", "sums"]
    }
