#include "margrove/writers.hpp"

#include <cmath>

#include "base/atomic_file.hpp"
#include "base/number_text.hpp"
#include "data/prediction_lines.hpp"
#include "data/svmlight_lines.hpp"
#include "data/text_scan.hpp"

namespace margrove {
namespace {
/// Writes a file of `num_lines` lines; append(line, i) appends the text of line i.
template <class Append>
void write_lines(const std::string& path, std::size_t num_lines, const Append& append) {
  AtomicFile file(path);
  std::string line;
  for (std::size_t i = 0; i < num_lines; ++i) {
    line.clear();
    append(line, i);
    line += '\n';
    file.write(line);
  }
  file.commit();
}

void require_writable_labels(const std::string& path, const LabelCodec& codec) {
  for (const auto& name : codec.names()) {
    const std::string fault = detail::label_fault(name);
    require(fault.empty(), path, ": label ", fault);
  }
}
}  // namespace

void append_labels(std::string& line, std::span<const LabelId> labels,
                   std::span<const std::string> names, std::string_view separator) {
  for (std::size_t k = 0; k < labels.size(); ++k) {
    if (k > 0) line += separator;
    line += names[labels[k]];
  }
}

void append_scored_labels(std::string& line, std::span<const ScoredLabel> labels,
                          std::span<const std::string> names, std::string_view separator) {
  for (std::size_t k = 0; k < labels.size(); ++k) {
    if (k > 0) line += separator;
    line += names[labels[k].label];
    line += ':';
    append_number(line, labels[k].score);
  }
}

void append_svmlight_row(std::string& line, std::span<const LabelId> labels,
                         std::span<const std::string> names, const SparseRow& row) {
  append_labels(line, labels, names);
  for (std::size_t k = 0; k < row.size(); ++k) {
    line += ' ';
    append_number(line, std::uint64_t{row.columns[k]} + 1);
    line += ':';
    append_number(line, row.values[k]);
  }
  if (line.empty()) line += ' ';  // an empty line would not be read as a row
}

void write_svmlight(const std::string& path, const CsrView& X, const LabelSets& labels,
                    const LabelCodec& codec) {
  require(X.num_rows() == labels.num_rows(), path, ": ", X.num_rows(), " rows, but ",
          labels.num_rows(), " label sets");
  require_writable_labels(path, codec);
  for (const auto& name : codec.names()) {
    require(!detail::looks_like_feature(name), path, ": label is ", detail::quoted(name),
            ", but must not look like a feature");
  }
  write_lines(path, X.num_rows(), [&](std::string& line, std::size_t i) {
    const SparseRow row = X.row(i);
    for (std::size_t k = 0; k < row.size(); ++k) {
      require(std::isfinite(row.values[k]), path, ": value[", i, ", ", row.columns[k],
              "] is not a finite number");
    }
    append_svmlight_row(line, labels[i], codec.names(), row);
  });
}

void write_hierarchy(const std::string& path, const Hierarchy& hierarchy) {
  require_writable_labels(path, hierarchy.codec);
  write_lines(path, hierarchy.edges.size(), [&](std::string& line, std::size_t e) {
    const auto [parent, child] = hierarchy.edges[e];
    line += concat(hierarchy.codec.name(parent), " ", hierarchy.codec.name(child));
  });
}

void write_text(const std::string& path, const TextDataset& data) {
  require(data.documents.size() == data.labels.num_rows(), path, ": ", data.documents.size(),
          " documents, but ", data.labels.num_rows(), " label sets");
  require_writable_labels(path, data.codec);
  write_lines(path, data.documents.size(), [&](std::string& line, std::size_t i) {
    require(data.documents[i].find_first_of("\r\n") == std::string::npos, path, ": document ", i,
            " has a line end, but must be one line");
    append_labels(line, data.labels[i], data.codec.names());
    line += '\t';
    line += data.documents[i];
  });
}

void write_predictions(const std::string& path, const LabelSets& labels, const LabelCodec& codec) {
  require_writable_labels(path, codec);
  write_lines(path, labels.num_rows(), [&](std::string& line, std::size_t i) {
    append_labels(line, labels[i], codec.names());
  });
}

}  // namespace margrove
