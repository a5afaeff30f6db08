#include "data/gaf_reader.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "data/input_file.hpp"
#include "data/text_scan.hpp"

namespace margrove {
namespace {
using detail::Line;

constexpr std::size_t kFewestColumns = 15;  // of GAF 1; later versions have 17
constexpr std::size_t kMaxColumns = 17;
// Columns, from 0.
constexpr std::size_t kObject = 1, kQualifiers = 3, kTerm = 4, kEvidence = 6, kAspect = 8;

class GafParser {
 public:
  GafParser(std::string source, const GafFilter& filter) : filter_(filter) {
    found_.source = std::move(source);
  }

  void parse_line(const Line& line) {
    if (line.text.starts_with('!') || detail::trimmed(line.text).empty()) return;
    try {
      add(line);
    } catch (const InvalidInput& error) {  // real files have a few such lines
      if (num_faulty_++ == 0) first_fault_ = error.what();
    }
  }

  Annotations finish() {
    require(num_lines_ > 0 || num_faulty_ == 0, first_fault_, "; none of the ", num_faulty_,
            " lines is an annotation");
    require(num_lines_ > 0, found_.source,
            ": the file has no annotation, but must have at least one");
    require(!pairs_.empty(), found_.source, ": none of the ", num_lines_,
            " annotations is left without those that say NOT, and those of other evidence or "
            "aspects than asked for");
    if (num_faulty_ > 0) {
      found_.warnings.push_back(concat(first_fault_, "; ", num_faulty_, " of ",
                                       num_faulty_ + num_lines_, " lines left out"));
    }
    std::sort(pairs_.begin(), pairs_.end());
    std::vector<LabelId> terms;
    auto pair = pairs_.begin();
    for (LabelId object = 0; object < found_.objects.size(); ++object) {
      terms.clear();
      for (; pair != pairs_.end() && pair->first == object; ++pair) terms.push_back(pair->second);
      found_.terms_of.append(terms);
    }
    return std::move(found_);
  }

 private:
  void add(const Line& line) {
    split(line);
    if (const std::string fault = detail::name_fault(columns_[kObject]); !fault.empty()) {
      line.fail(columns_[kObject].data(), "object ", fault);
    }
    line.require_label(columns_[kTerm]);
    for (const std::size_t column : {kEvidence, kAspect}) {
      if (columns_[column].empty()) {
        line.fail(columns_[column].data(), "column ", column + 1, " is empty, but must have the ",
                  column == kEvidence ? "evidence" : "aspect");
      }
    }
    ++num_lines_;
    if (is_negated() || !passes()) return;
    const LabelId object = found_.objects.add(columns_[kObject]);
    pairs_.emplace_back(object, found_.terms.add(columns_[kTerm]));
  }

  void split(const Line& line) {
    std::size_t count = 0;
    for (std::size_t begin = 0; begin <= line.text.size(); ++count) {
      const std::size_t end = std::min(line.text.find('\t', begin), line.text.size());
      if (count < columns_.size()) columns_[count] = line.text.substr(begin, end - begin);
      begin = end + 1;
    }
    if (count < kFewestColumns || count > kMaxColumns) {
      line.fail(line.end(), "the line has ", count, " columns, but must have ", kFewestColumns,
                " to ", kMaxColumns, " separated by tabs");
    }
  }

  /// Qualifiers are separated by bars; NOT says that the object does not have the term.
  bool is_negated() const {
    std::string_view rest = columns_[kQualifiers];
    for (;;) {
      const std::size_t end = std::min(rest.find('|'), rest.size());
      if (rest.substr(0, end) == "NOT") return true;
      if (end == rest.size()) return false;
      rest.remove_prefix(end + 1);
    }
  }

  bool passes() const {
    const bool has_evidence =
        filter_.evidence.empty() ||
        std::ranges::find(filter_.evidence, columns_[kEvidence]) != filter_.evidence.end();
    return has_evidence && (filter_.aspects.empty() ||
                            filter_.aspects.find(columns_[kAspect]) != std::string::npos);
  }

  const GafFilter& filter_;
  Annotations found_;
  std::vector<std::pair<LabelId, LabelId>> pairs_;  // object and term
  std::size_t num_lines_ = 0;                       // that are annotations
  std::size_t num_faulty_ = 0;
  std::string first_fault_;
  std::array<std::string_view, kMaxColumns> columns_;  // of the present line
};

Annotations read(LineBlocks blocks, const GafFilter& filter) {
  GafParser parser(blocks.name(), filter);
  detail::for_each_line(blocks, [&](const Line& line) { parser.parse_line(line); });
  return parser.finish();
}

}  // namespace

Annotations read_gaf(const std::string& path, const GafFilter& filter, RunControl* control) {
  return read(LineBlocks(open_file(path), path, control), filter);
}

Annotations parse_gaf(std::string_view bytes, const std::string& name, const GafFilter& filter) {
  return read(LineBlocks(open_memory(bytes, name), name), filter);
}

}  // namespace margrove
