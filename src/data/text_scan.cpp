#include "data/text_scan.hpp"

#include <algorithm>

#include "data/float_parser.hpp"
#include "data/utf8.hpp"

namespace margrove::detail {
namespace {
constexpr std::size_t kMaxQuotedBytes = 40;
}  // namespace

std::string quoted(std::string_view token) {
  std::string text(1, '\'');
  std::size_t at = 0;
  while (at < token.size() && at < kMaxQuotedBytes) {
    const CodePoint c = decode_utf8(token.substr(at));
    if (c.size == 0 || c.value < 0x20 || c.value == 0x7F) {
      append_hexadecimal(text, token[at]);
      ++at;
    } else {
      text += token.substr(at, c.size);
      at += c.size;
    }
  }
  if (at < token.size()) text += "...";
  text += '\'';
  return text;
}

void refuse_unknown_label(const std::string& place, std::string_view name,
                          const LabelCodec& codec) {
  throw UnknownLabel(concat(place, ": label is ", quoted(name), ", but must be one of the ",
                            codec.size(), " known labels"));
}

std::string name_fault(std::string_view name) {
  if (name.empty()) return "is empty, but must have at least one character";
  if (name.size() > kMaxLabelBytes) {
    return concat("has ", name.size(), " bytes, but must have at most ", kMaxLabelBytes);
  }
  for (const char c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      return concat("is ", quoted(name), ", but must not contain control characters");
    }
  }
  if (find_invalid_utf8(name) != std::string_view::npos) {
    return concat("is ", quoted(name), ", but must be valid UTF-8");
  }
  return {};
}

std::string label_fault(std::string_view name) {
  const bool is_short = name.size() <= kMaxLabelBytes;
  for (const char c : is_short ? name : std::string_view()) {
    if (c == ',' || static_cast<unsigned char>(c) <= 0x20 || c == 0x7F) {
      return concat("is ", quoted(name),
                    ", but must not contain blanks, commas or control characters");
    }
  }
  if (is_short && name.starts_with('#')) {
    return concat("is ", quoted(name), ", but must not start with '#', which starts comments");
  }
  return name_fault(name);
}

bool looks_like_feature(std::string_view token) {
  const std::size_t colon = token.find(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  return std::all_of(token.begin(), token.begin() + static_cast<std::ptrdiff_t>(colon), is_digit) &&
         parse_float(token.substr(colon + 1)).fault == FloatFault::none;
}

std::string_view without_brackets(std::string_view name) {
  if (name.size() < 2 || !name.starts_with('<') || !name.ends_with('>')) return name;
  const std::string_view uri = name.substr(1, name.size() - 2);
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  std::size_t scheme = 0;
  while (scheme < uri.size() && (is_letter(uri[scheme]) || is_digit(uri[scheme]) ||
                                 std::string_view("+-.").find(uri[scheme]) != std::string::npos)) {
    ++scheme;
  }
  const bool is_uri = scheme > 0 && is_letter(uri.front()) && uri.substr(scheme).starts_with(':') &&
                      uri.find_first_of(" <>") == std::string_view::npos;
  return is_uri ? uri : name;
}

std::string_view hint_for_json(std::string_view line) {
  line = trimmed(line);
  if (!line.starts_with("{\"") || !line.ends_with('}')) return {};
  return "; the line is JSON, whose keys are columns: --text-column text --label-column labels "
         "without --text and --format, or in JSON lines of Annif --text-column text --label-column "
         "subjects.uri";
}

void require_text(const Line& line, std::string_view text, std::string_view what) {
  const std::size_t nul = text.find('\0');
  if (nul != std::string_view::npos) {
    line.fail(text.data() + nul, "the ", what, " has a NUL byte, but must be UTF-8 text");
  }
  const std::size_t invalid = find_invalid_utf8(text);
  if (invalid != std::string_view::npos) {
    line.fail(text.data() + invalid, "byte is ", quoted(text.substr(invalid, 1)),
              ", but the text must be valid UTF-8");
  }
}

std::string_view without_comment(std::string_view text) {
  for (std::size_t at = 0; (at = text.find('#', at)) != std::string_view::npos; ++at) {
    if (at == 0 || is_blank(text[at - 1])) return text.substr(0, at);
  }
  return text;
}

std::string_view take_to(char end, std::string_view& text) {
  const std::size_t size = std::min(text.find(end), text.size());
  const std::string_view taken = text.substr(0, size);
  text.remove_prefix(std::min(size + 1, text.size()));
  return taken;
}

std::string_view take_line(std::string_view& text) {
  std::string_view line = take_to('\n', text);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

std::optional<std::array<std::string_view, 2>> two_fields(const Line& line, std::string_view form) {
  std::string_view rest = trimmed(without_comment(line.text));
  if (rest.empty()) return std::nullopt;
  const std::string_view separator = rest.find('\t') != std::string_view::npos ? "\t" : " ";
  std::array<std::string_view, 2> fields;
  std::size_t count = 0;
  for (; !rest.empty(); ++count) {
    const std::string_view field = rest.substr(0, rest.find(separator));
    rest = trimmed(rest.substr(field.size()));
    if (count == fields.size()) {
      line.fail(field.data(), "the line has a third field ", quoted(field), ", but must be '", form,
                "'");
    }
    fields[count] = trimmed(field);
  }
  if (count == 1) line.fail(line.end(), "the line has one field, but must be '", form, "'");
  return fields;
}

LabelId known_label(const Line& line, std::string_view name, const LabelCodec& codec) {
  const auto known = codec.find(name);
  if (!known) refuse_unknown_label(line.place(name.data()), name, codec);
  return *known;
}

LabelId label_id(const Line& line, std::string_view name, LabelCodec& codec,
                 bool known_labels_only) {
  if (line.meter != nullptr) line.meter->add();
  if (const auto known = codec.find(name)) return *known;
  line.require_label(name);
  return known_labels_only ? known_label(line, name, codec) : codec.add(name);
}

void parse_labels(const Line& line, std::string_view list, LabelCodec& codec,
                  bool known_labels_only, std::vector<LabelId>& labels) {
  labels.clear();
  for (;;) {
    const std::size_t comma = list.find(',');
    labels.push_back(label_id(line, list.substr(0, comma), codec, known_labels_only));
    if (comma == std::string_view::npos) return;
    list.remove_prefix(comma + 1);
  }
}

bool report_rows(std::size_t num_rows, RunControl* control) {
  if (control == nullptr) return true;
  return control->proceed({.stage = "reading",
                           .done = static_cast<std::int64_t>(num_rows),
                           .unit = Progress::Unit::rows});
}

}  // namespace margrove::detail
