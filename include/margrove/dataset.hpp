#pragma once
// Rows with their label sets.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "margrove/api.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/label_codec.hpp"

namespace margrove MARGROVE_API {

/// One set of labels per row, ascending, no duplicates; a row's set may be empty.
class LabelSets {
 public:
  LabelSets() : row_pointers_{0} {}
  /// Sorts and removes duplicates.
  void append(std::span<const LabelId> labels);

  std::size_t num_rows() const { return row_pointers_.size() - 1; }
  std::span<const LabelId> operator[](std::size_t i) const {
    return std::span(labels_).subspan(
        static_cast<std::size_t>(row_pointers_[i]),
        static_cast<std::size_t>(row_pointers_[i + 1] - row_pointers_[i]));
  }
  /// Whether some row has a label and no row has several. Rows without one have missing labels
  /// then.
  bool single_label() const;
  bool operator==(const LabelSets&) const = default;
  std::int64_t num_labels_total() const { return row_pointers_.back(); }

 private:
  std::vector<std::int64_t> row_pointers_;
  std::vector<LabelId> labels_;
};

LabelSets select_rows(const LabelSets& labels, std::span<const std::uint32_t> rows);

/// What a data file holds. Label ids are those of `codec`, in order of first appearance unless the
/// reader was given a codec.
struct Dataset {
  CsrMatrix X;
  LabelSets labels;
  LabelCodec codec;
  std::uint32_t first_index = 1;  // of features, in the file: that of column 0
};

/// A hierarchy file: node names and the edges between them.
struct Hierarchy {
  struct Edge {
    LabelId parent;
    LabelId child;
  };
  LabelCodec codec;  // in order of first appearance
  std::vector<Edge> edges;
  std::vector<std::string> names;   // of each node for people, or empty; none if all are the ids
  std::string source;               // file name, for messages
  std::vector<std::int64_t> lines;  // of each edge; empty if not from a file
  std::vector<std::string> warnings = {};  // of the reader
};

}  // namespace margrove
