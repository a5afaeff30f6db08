#pragma once
// What the readers of text formats share: places in messages, quoting, label names.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/foreign_forms.hpp"
#include "data/input_file.hpp"
#include "margrove/control.hpp"
#include "margrove/errors.hpp"
#include "margrove/label_codec.hpp"

namespace margrove::detail {

inline constexpr std::size_t kMaxLabelBytes = 1024;

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }
inline bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}
inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// `token` in quotes, with control characters and invalid bytes as \xNN, truncated after 40 bytes.
std::string quoted(std::string_view token);
/// The same of strings, for which std::quoted(), which <filesystem> brings, would be taken
/// otherwise.
inline std::string quoted(const std::string& token) { return quoted(std::string_view(token)); }
inline std::string quoted(const char* token) { return quoted(std::string_view(token)); }

/// Why `name` cannot be a label ("has 2000 bytes, but ..."); empty if it can. A label is 1 to
/// kMaxLabelBytes bytes of UTF-8 without blanks, control characters or commas, and does not start
/// with '#', which starts comments.
std::string label_fault(std::string_view name);
/// The same for formats in which labels may contain blanks and commas: 1 to kMaxLabelBytes bytes of
/// UTF-8 without control characters.
std::string name_fault(std::string_view name);

/// A label that the codec lacks where only its labels are allowed.
class UnknownLabel : public InvalidInput {
 public:
  using InvalidInput::InvalidInput;
};
/// Throws UnknownLabel "PLACE: label is 'z', but must be one of the 20 known labels".
[[noreturn]] void refuse_unknown_label(const std::string& place, std::string_view name,
                                       const LabelCodec& codec);

/// Whether `token` is like "12:0.5", which would be read as a feature if it were a row's only
/// label.
bool looks_like_feature(std::string_view token);

/// One line of a file being read; columns are bytes, counted from 1.
struct Line {
  std::string_view source;
  std::int64_t number;
  std::string_view text;       // without the line end
  WorkMeter* meter = nullptr;  // counts its labels, if there is a control to ask

  template <class... Parts>
  [[noreturn]] void fail(const char* at, const Parts&... parts) const {
    throw InvalidInput(concat(place(at), ": ", parts...));
  }
  /// "file:line:column"
  std::string place(const char* at) const {
    return concat(source, ":", number, ":", (at - text.data()) + 1);
  }
  /// The end of the text, which is the place of what is missing.
  const char* end() const { return text.data() + text.size(); }
  void require_label(std::string_view name) const { require_none(label_fault(name), name); }
  void require_name(std::string_view name) const { require_none(name_fault(name), name); }

 private:
  void require_none(const std::string& fault, std::string_view name) const {
    if (!fault.empty()) fail(name.data(), "label ", fault);
  }
};

/// The URI of a name in angle brackets, as RDF and Annif write it; other names as they are.
std::string_view without_brackets(std::string_view name);

/// How JSON lines are read, where a document was expected, as the end of a message; empty if the
/// line is no object of JSON.
std::string_view hint_for_json(std::string_view line);

/// Throws InvalidInput "file:line:column: ..." unless `text`, a part of the line that messages call
/// `what`, is UTF-8 without NUL bytes.
void require_text(const Line& line, std::string_view text, std::string_view what);
inline void require_text(const Line& line) { require_text(line, line.text, "line"); }

/// Removes what stands before `end` and `end` itself, or all without it, from the front of the text
/// and returns what stood before it.
std::string_view take_to(char end, std::string_view& text);
/// Removes the first line and returns it without its end, which is LF or CR LF.
std::string_view take_line(std::string_view& text);

/// `text` without the blanks and tabs around it.
std::string_view trimmed(std::string_view text);

/// The two fields of a line before its comment; nothing if the line is blank. In a line with a tab,
/// tabs separate them and they may hold blanks; otherwise blanks separate them. Throws InvalidInput
/// for another number of fields; `form` is the expected form in messages.
std::optional<std::array<std::string_view, 2>> two_fields(const Line& line, std::string_view form);

/// The id of a label of `codec`. Throws UnknownLabel if the codec lacks it.
LabelId known_label(const Line& line, std::string_view name, const LabelCodec& codec);
/// The id of a label, which is added if the codec lacks it. Throws InvalidInput for a name that
/// cannot be a label and, if known_labels_only, UnknownLabel for one that the codec lacks.
LabelId label_id(const Line& line, std::string_view name, LabelCodec& codec,
                 bool known_labels_only = false);
/// Replaces `labels` by the ids of a list separated by commas.
void parse_labels(const Line& line, std::string_view list, LabelCodec& codec,
                  bool known_labels_only, std::vector<LabelId>& labels);

/// The lines of a file or of memory for for_each_line() or a reader that reports its rows.
inline LineBlocks row_blocks(std::unique_ptr<ByteSource> source, const std::string& name,
                             RunControl* control) {
  return {std::move(source), name, control, LineBlocks::Questions::within_lines};
}

/// Reports the rows read so far to `control`, which may be null. False if it asks to end.
bool report_rows(std::size_t num_rows, RunControl* control);

/// Calls visit(line) for every line of a file; CR LF ends a line too. After each block of lines it
/// calls proceed(), and returns false as soon as this does. Throws as end_reading() where a line
/// takes so long that the control of the blocks asks to end.
template <class Visit, class Proceed>
bool for_each_line(LineBlocks& blocks, const Visit& visit, const Proceed& proceed) {
  return read_in_time(blocks.name(), [&] {
    std::int64_t number = 0;
    while (blocks.next()) {
      for (std::string_view block = blocks.text(); !block.empty();) {
        const std::string_view text = take_line(block);
        visit(Line{blocks.name(), ++number, text, &blocks.meter()});
      }
      if (!proceed()) return false;
    }
    return true;
  });
}
/// The same, where the end of each block asks the control of the blocks.
template <class Visit>
void for_each_line(LineBlocks& blocks, const Visit& visit) {
  for_each_line(blocks, visit, [&] {
    blocks.meter().add(WorkMeter::kWorkBetweenQuestions);
    return true;
  });
}

/// The rows that a parser with parse_line(line), num_rows() and finish() makes of a file, or those
/// read so far if `control`, which may be null, asks to end. Throws InvalidInput if the file has no
/// rows.
template <class Parser>
auto parse_rows(LineBlocks blocks, Parser parser, RunControl* control) {
  if (blocks.next()) {
    refuse_foreign(blocks.text(), blocks.name(), Wanted::rows);
    blocks.stay();
  }
  const bool complete = for_each_line(
      blocks, [&](const Line& line) { parser.parse_line(line); },
      [&] { return report_rows(parser.num_rows(), control); });
  require(!complete || parser.num_rows() > 0, blocks.name(),
          ": the file has no rows, but must have at least one");
  return parser.finish();
}

}  // namespace margrove::detail
