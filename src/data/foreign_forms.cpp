#include "data/foreign_forms.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "data/sentence_lines.hpp"
#include "margrove/errors.hpp"

namespace margrove::detail {
namespace {

using std::string_view_literals::operator""sv;
constexpr std::string_view kBlanks = " \t\r\n";

// Bytes -------------------------------------------------------------------------------------------

struct Magic {
  std::string_view bytes, what, remedy;
};
constexpr std::string_view kUnpack = "unpack it first";
constexpr std::string_view kEncode =
    "convert it, for example with iconv -f UTF-16 -t UTF-8, or save it as UTF-8";
constexpr std::array kMagic{
    Magic{"\xff\xfe\0\0"sv, "UTF-32", "convert it, for example with iconv -f UTF-32 -t UTF-8"},
    Magic{"\xff\xfe"sv, "UTF-16", kEncode},
    Magic{"\xfe\xff"sv, "UTF-16", kEncode},
    // Readers see the bytes after the decompression.
    Magic{"\x1f\x8b\x08"sv, "compressed twice, within by gzip", "decompress it once"},
    Magic{"\x28\xb5\x2f\xfd"sv, "compressed twice, within by zstd", "decompress it once"},
    Magic{"\xfd"
          "7zXZ\0"sv,
          "compressed by xz", "decompress it, or compress it by gzip or zstd"},
    Magic{"BZh91AY&SY"sv, "compressed by bzip2", "decompress it, or compress it by gzip or zstd"},
    Magic{"PK\x03\x04"sv, "a ZIP archive, as are .xlsx and .ods",
          "unpack it, or export the sheet as CSV in UTF-8"},
    Magic{"7z\xbc\xaf\x27\x1c"sv, "a 7z archive", kUnpack},
    Magic{"PAR1"sv, "Parquet", "write it as CSV or JSON lines"},
    Magic{"ARROW1\0\0"sv, "Arrow or Feather", "write it as CSV or JSON lines"},
    Magic{"SQLite format 3\0"sv, "an SQLite database", "export the table as CSV"},
    Magic{"\x89HDF\r\n\x1a\n"sv, "HDF5", "write it as text"},
    Magic{"%PDF-"sv, "PDF", "write it as text"},
};

/// Whether a text without a byte order mark is UTF-16, as its first characters tell.
bool is_utf16(std::string_view start) {
  constexpr std::size_t kPairs = 4;
  if (start.size() < 2 * kPairs) return false;
  const auto zeros_at = [&](std::size_t offset) {
    for (std::size_t k = 0; k < kPairs; ++k) {
      if (start[2 * k + offset] != '\0' || start[2 * k + 1 - offset] == '\0') return false;
    }
    return true;
  };
  return zeros_at(0) || zeros_at(1);
}

/// Archives of tar say so behind the name of their first file.
bool is_tar(std::string_view start) {
  constexpr std::size_t kPlace = 257;
  return start.size() > kPlace && start.substr(kPlace).starts_with("ustar");
}

// Text --------------------------------------------------------------------------------------------

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

/// Whether `text` starts with `word`, which is in lower case, in whichever case.
bool starts_with_word(std::string_view text, std::string_view word) {
  return text.size() >= word.size() && std::equal(word.begin(), word.end(), text.begin(),
                                                  [](char a, char b) { return a == lower(b); });
}

std::string_view after_blanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text;
}

/// The text from its first line on that is not blank and does not begin with one of `marks`.
std::string_view after_comments(std::string_view text, std::string_view marks) {
  for (;;) {
    text = after_blanks(text);
    if (text.empty() || marks.find(text.front()) == std::string_view::npos) return text;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
}

/// XML from its root element on: without declarations, comments and the document type.
std::string_view from_root(std::string_view text) {
  text = after_blanks(text);
  for (;;) {
    std::string_view end;
    if (text.starts_with("<?")) {
      end = "?>";
    } else if (text.starts_with("<!--")) {
      end = "-->";
    } else if (text.starts_with("<!")) {
      const std::size_t angle = text.find_first_of(">[");
      end = angle < text.size() && text[angle] == '[' ? "]>" : ">";
    } else {
      return text;
    }
    const std::size_t at = text.find(end);
    if (at == std::string_view::npos) return {};
    text = after_blanks(text.substr(at + end.size()));
  }
}

bool is_array_of(std::string_view start, std::string_view first) {
  if (!start.starts_with('[')) return false;
  const std::string_view inside = after_blanks(start.substr(1));
  return !inside.empty() && first.find(inside.front()) != std::string_view::npos;
}
bool is_json(std::string_view start) {
  return start.starts_with('{') || is_array_of(start, "{[\"]-0123456789");
}
bool is_json_ld(std::string_view start) {
  return is_json(start) && (start.find("\"@context\"") != std::string_view::npos ||
                            start.find("\"@graph\"") != std::string_view::npos ||
                            start.find("\"@id\"") != std::string_view::npos);
}
bool is_json_array(std::string_view start) { return is_array_of(start, "{[]"); }
bool is_arff(std::string_view start) {
  const std::string_view text = after_comments(start, "%");
  if (!starts_with_word(text, "@relation")) return false;
  const std::string_view rest =
      after_comments(text.substr(std::min(text.find('\n'), text.size())), "%");
  return starts_with_word(rest, "@attribute");
}
bool is_html(std::string_view start) {
  return starts_with_word(start, "<!doctype html") || starts_with_word(from_root(start), "<html");
}
bool is_owl_xml(std::string_view start) {
  return from_root(start).starts_with("<Ontology") && start.find("owl") != std::string_view::npos;
}
bool is_owl_text(std::string_view start) {
  return start.starts_with("Prefix(") || start.starts_with("Ontology(") ||
         start.starts_with("Prefix: ");
}
bool is_fasttext(std::string_view start) {
  return start.starts_with("__label__") && start.find('\t') > start.find('\n');
}

// Sentences ---------------------------------------------------------------------------------------

/// Whether every line of the first sentence has the ten columns of CoNLL-U, of which the first ones
/// number its words and the seventh is a number or missing. Labelled texts do not look like that.
bool is_conllu(std::string_view start) {
  constexpr std::size_t kNumColumns = 10, kHead = 6;
  std::size_t num_words = 0;
  std::vector<std::string_view> cells;
  while (!start.empty()) {
    const std::string_view line = take_line(start);
    if (is_blank_line(line)) break;
    cells.clear();
    split_at_tabs(line, cells);
    if (cells.size() != kNumColumns) return false;
    const std::size_t mark = cells.front().find_first_of("-.");
    const bool is_no_word = mark != std::string_view::npos &&
                            all_digits(cells.front().substr(0, mark)) &&
                            all_digits(cells.front().substr(mark + 1));
    if (is_no_word) continue;
    if (cells.front() != std::to_string(++num_words)) return false;
    if (!all_digits(cells[kHead]) && cells[kHead] != "_") return false;
  }
  return num_words > 0;
}

/// Whether there are two sentences, with a blank line between them, all of whose lines have the
/// same number of columns, and the second one is no feature. Labelled texts may look like that.
bool is_columns_of_tokens(std::string_view start) {
  std::size_t num_columns = 0, num_sentences = 0;
  bool is_inside = false;
  std::vector<std::string_view> cells;
  while (!start.empty() && num_sentences < 2) {
    const std::string_view line = take_line(start);
    if (is_blank_line(line) || line.starts_with("-DOCSTART-")) {
      num_sentences += is_inside ? 1 : 0;
      is_inside = false;
      continue;
    }
    cells.clear();
    const bool has_tabs = line.find('\t') != std::string_view::npos;
    has_tabs ? split_at_tabs(line, cells) : split_at_blanks(line, cells);
    if (num_columns == 0) num_columns = cells.size();
    if (cells.size() < 2 || cells.size() != num_columns || looks_like_feature(cells[1])) {
      return false;
    }
    for (const std::string_view cell : cells) {
      if (cell.empty() || cell.find(' ') != std::string_view::npos) return false;
    }
    is_inside = true;
  }
  return num_sentences + (is_inside ? 1 : 0) >= 2;
}

constexpr std::string_view kTrees =
    "train on sentences and their trees with method structured (--method structured --model "
    "dependency)";

struct Form {
  bool (*is)(std::string_view start);  // from the first line on that is neither blank nor `#`
  std::string_view what;
  std::string_view in_rows, in_hierarchy;  // what to do; empty: it is no other form there
};
constexpr std::string_view kEdges = "write a line 'parent child' for each edge";
constexpr std::string_view kPage = "download the file itself, not the page that shows it";
constexpr std::string_view kOwl = "convert it to OBO or to SKOS in Turtle, for example with ROBOT";
constexpr std::array kForms{
    Form{is_json_ld, "JSON-LD", {}, "write the vocabulary as Turtle, N-Triples or RDF/XML"},
    Form{is_json_array, "a JSON array", "write one object on each line, as jq -c '.[]' does",
         kEdges},
    Form{is_json, "JSON", {}, kEdges},
    Form{is_arff, "ARFF",
         "write the rows after @data as CSV, with the names of the attributes as its header",
         kEdges},
    Form{is_html, "HTML", kPage, kPage},
    Form{is_owl_xml, "OWL/XML", {}, kOwl},
    Form{is_owl_text, "OWL in functional or Manchester syntax", {}, kOwl},
    Form{is_conllu, "CoNLL-U", kTrees, {}},
    Form{is_fasttext, "fastText's form", "write label[,label]<TAB>text without __label__", {}},
};

}  // namespace

std::string hint_for_sentences(std::string_view start) {
  const std::string_view text = after_comments(start, "#");
  if (is_conllu(text)) return concat("; the file looks like CoNLL-U: ", kTrees);
  if (!is_columns_of_tokens(text)) return {};
  return "; the file looks like sentences with a token and its tag on each line: train on them "
         "with "
         "method structured (--method structured)";
}

void refuse_no_text(std::string_view start, const std::string& name) {
  const auto refuse = [&](std::string_view what, std::string_view remedy) {
    throw InvalidInput(
        concat(name, ": the file is ", what, ", but must be text in UTF-8; ", remedy));
  };
  for (const Magic& magic : kMagic) {
    if (start.starts_with(magic.bytes)) refuse(magic.what, magic.remedy);
  }
  if (is_utf16(start)) refuse("UTF-16", kEncode);
  if (is_tar(start)) refuse("a tar archive", kUnpack);
}

void refuse_foreign(std::string_view start, const std::string& name, Wanted wanted) {
  const std::string_view text = after_comments(start, "#");
  const std::string_view before = start.substr(0, start.size() - text.size());
  for (const Form& form : kForms) {
    const std::string_view remedy = wanted == Wanted::rows ? form.in_rows : form.in_hierarchy;
    if (remedy.empty() || !form.is(text)) continue;
    const std::size_t newline = before.rfind('\n');
    const std::size_t column =
        newline == std::string_view::npos ? before.size() : before.size() - newline - 1;
    throw InvalidInput(concat(name, ":", std::count(before.begin(), before.end(), '\n') + 1, ":",
                              column + 1, ": the file looks like ", form.what, ", but must be ",
                              wanted == Wanted::rows ? "svmlight, labelled text, CSV or JSON lines"
                                                     : "an edge list, OBO or SKOS",
                              "; ", remedy));
  }
}

}  // namespace margrove::detail
