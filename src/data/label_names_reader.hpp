#pragma once
// Files with names of labels for people: `label<TAB>name<TAB>other name ...` on each line, or CSV.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "margrove/control.hpp"
#include "margrove/dataset.hpp"
#include "margrove/label_codec.hpp"

namespace margrove {

/// The names of labels.
struct LabelNames {
  std::string source;                    // file name, for messages
  LabelCodec labels;                     // in order of first appearance
  std::vector<std::string> names;        // of each label: the first one
  std::vector<std::string> other_names;  // of each label: the further ones, one a line
  std::vector<std::int64_t> lines;       // of each label: its first one
};

/// Reads a plain, gzip or zstd file. One whose name ends in .csv, apart from that of its
/// compression, has cells between commas as RFC 4180 says, and a first line that begins with
/// `label` and `name` is its header. In others tabs separate the cells, and lines that begin with
/// `#` are comments. Empty lines and cells and the blanks around cells do not count; a URI may be
/// in angle brackets. Further lines of a label add to its other names. Throws InvalidInput
/// "file:line:column: ..." for a line without a name and for what cannot be a label or is no text,
/// and OutOfTimeLimit where `control`, which may be null, asks to end. O(bytes).
LabelNames read_label_names(const std::string& path, RunControl* control = nullptr);
/// The same from memory; `name` stands for the file.
LabelNames parse_label_names(std::string_view bytes, const std::string& name);

/// Labels of a file of names that are no nodes of a hierarchy.
struct UnknownNames {
  std::size_t count = 0;
  std::string example;  // one of them; empty if there is none
};
/// Gives the nodes of a hierarchy the names of a file instead of those that they have; nodes that
/// the file lacks keep theirs. Ids that stand for the same node add their names. Throws
/// InvalidInput for a label that is no node, unless drops_unknown, and if the file has no node at
/// all.
UnknownNames use_label_names(Hierarchy& hierarchy, const LabelNames& names, bool drops_unknown);

/// Labels without a structure (Hierarchy::is_flat): those of `codec` and then the others of the
/// file, with their names.
Hierarchy flat_labels(const LabelCodec& codec, const LabelNames& names);
/// Throws InvalidInput if no label of the file is one of `codec`, whose labels come from `source`.
void require_known_names(const LabelCodec& codec, const LabelNames& names,
                         const std::string& source);

}  // namespace margrove
