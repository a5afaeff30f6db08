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
  /// What a row without a label means.
  enum class Unlabelled {
    automatic,  // `drop` where no row has several labels, otherwise `keep`
    drop,       // its label is missing
    keep,       // it has the empty set: rows have sets of labels, whatever their sizes
  };

  LabelSets() : row_pointers_{0} {}
  /// Sorts and removes duplicates.
  void append(std::span<const LabelId> labels);

  std::size_t num_rows() const { return row_pointers_.size() - 1; }
  std::span<const LabelId> operator[](std::size_t i) const {
    return std::span(labels_).subspan(
        static_cast<std::size_t>(row_pointers_[i]),
        static_cast<std::size_t>(row_pointers_[i + 1] - row_pointers_[i]));
  }
  /// Whether rows have one label each: some row has a label and none has several, and rows without
  /// one are not meant as empty sets. Their labels are missing then.
  bool single_label() const;
  Unlabelled unlabelled() const { return unlabelled_; }
  void set_unlabelled(Unlabelled meaning) { unlabelled_ = meaning; }
  /// No rows, whose sets will mean the same: for the labels of the same rows in other numbers.
  LabelSets without_rows() const;
  bool operator==(const LabelSets&) const = default;
  std::int64_t num_labels_total() const { return row_pointers_.back(); }

 private:
  std::vector<std::int64_t> row_pointers_;
  std::vector<LabelId> labels_;
  Unlabelled unlabelled_ = Unlabelled::automatic;
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
  std::vector<std::string> names;  // of each node for people, or empty; none if all are the ids
  /// Of each node: alternative and hidden names, or synonyms, one a line; none where the reader was
  /// not asked for them.
  std::vector<std::string> other_names = {};
  std::string source;                      // file name, for messages
  std::vector<std::int64_t> lines;         // of each edge; empty if not from a file
  std::vector<std::string> warnings = {};  // of the reader
  /// Labels without a structure, for the sake of their names: models then have no hierarchy.
  bool is_flat = false;
};

}  // namespace margrove
