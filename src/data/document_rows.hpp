#pragma once
// What the readers of documents share.

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "data/text_scan.hpp"
#include "margrove/text_reader.hpp"

namespace margrove::detail {

/// A parser for parse_rows(). Form::parse(line, options, codec, labels) appends the row's labels to
/// `labels`, which is empty, and returns its text, or nothing where the line is no row.
template <class Form>
class DocumentParser {
 public:
  explicit DocumentParser(const TextOptions& options) : options_(options) {
    if (options.codec != nullptr) data_.codec = *options.codec;
  }

  void parse_line(const Line& line) {
    labels_.clear();
    const std::optional<std::string_view> text = Form::parse(line, options_, data_.codec, labels_);
    if (!text) return;
    require_text(line, *text, "text");
    data_.labels.append(labels_);
    data_.documents.emplace_back(*text);
  }

  std::size_t num_rows() const { return data_.documents.size(); }
  TextDataset finish() { return std::move(data_); }

 private:
  const TextOptions& options_;
  TextDataset data_;
  std::vector<LabelId> labels_;
};

}  // namespace margrove::detail
