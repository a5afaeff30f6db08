#pragma once
// The interface of all kinds of trained models. A new kind is a derived class and one line in
// src/methods/registry.cpp that says how it is loaded.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/tensors.hpp"
#include "data/input_file.hpp"
#include "margrove/control.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/dataset.hpp"
#include "margrove/executor.hpp"
#include "margrove/results.hpp"

namespace margrove {

/// A named number of `margrove evaluate`.
struct NamedValue {
  std::string name;
  double value;
};

struct WeightCompression;
class RowPredictor;
class FilePredictor;
class SentencePredictor;
class LinearPredictor;
class KernelPredictor;

/// The part of a model that turns examples into labels. Immutable, safe to use from many threads.
class Predictor {
 public:
  virtual ~Predictor() = default;
  /// This predictor if its examples are rows of a matrix (rows()), files (files()) or, among these,
  /// files of sentences (sentences()); otherwise null.
  virtual const RowPredictor* rows() const { return nullptr; }
  virtual const FilePredictor* files() const { return nullptr; }
  virtual const SentencePredictor* sentences() const { return nullptr; }
  /// This predictor if it is a linear model (linear()) or one of kernels (kernels()); otherwise
  /// null.
  virtual const LinearPredictor* linear() const { return nullptr; }
  virtual const KernelPredictor* kernels() const { return nullptr; }
  /// The name under which the registry finds the loader: "linear", "chain", "kernel", ...
  virtual std::string_view kind() const = 0;
  /// Writes everything that the loader of kind() needs. Metadata keys and tensor names begin with
  /// kind() and a dot. Views (TensorMap::put_view) may refer to this predictor.
  virtual void save(TensorMap& out) const = 0;
  /// Sizes, sparsity and other facts that help to understand the model.
  virtual std::vector<Fact> facts() const = 0;
  /// A copy with fewer and rounded weights; null if the kind has no weights that can be left out.
  virtual std::unique_ptr<Predictor> compressed(const WeightCompression&) const { return nullptr; }
  /// Whether it is such a copy.
  virtual bool is_compressed() const { return false; }
  /// Whether compressed() would make it smaller.
  virtual bool is_compressible() const { return false; }
};

/// A model whose examples are rows of a matrix. Label ids are those of ModelParts::labels.
class RowPredictor : public Predictor {
 public:
  const RowPredictor* rows() const final { return this; }
  /// Whether each row gets exactly one label.
  virtual bool gives_one_label() const { return false; }
  /// Whether the score of a node estimates the probability that the row has a label at or below it,
  /// and that of a parent is at least that of each child.
  virtual bool estimates_nodes() const { return false; }
  /// The number of columns of X without the intercept; further columns are ignored.
  virtual std::uint32_t num_features() const = 0;
  virtual std::uint32_t num_labels() const = 0;
  /// scores[(i - begin) * num_labels() + l] of rows [begin, end); -infinity for labels that are
  /// never predicted. Others are finite, or it throws NonFiniteScores. Called from several threads.
  virtual void scores(const CsrView& X, std::size_t begin, std::size_t end,
                      std::span<float> scores) const = 0;
  /// The scores by which top() and the ranking metrics order the labels of a row, in the form of
  /// scores(). They differ from these where the scores of inner nodes include their children's.
  virtual void ranking_scores(const CsrView& X, std::size_t begin, std::size_t end,
                              std::span<float> scores) const {
    this->scores(X, begin, end, scores);
  }
  /// The scores that probabilities are computed from, in the form of scores(). They differ from
  /// these where a search gives scores only to the labels that it reaches.
  virtual void probability_scores(const CsrView& X, std::size_t begin, std::size_t end,
                                  std::span<float> scores) const {
    this->scores(X, begin, end, scores);
  }
  /// One set per row.
  virtual LabelSets predict(const CsrView& X, Executor& executor) const = 0;
  /// Ties go to the lowest label.
  virtual RankedLabels top(const CsrView& X, std::size_t k, Executor& executor) const;
  /// Throws InvalidInput if `label` is never predicted or the kind cannot be explained.
  virtual Explanation explain(const SparseRow& x, LabelId label, std::size_t num_strongest) const;

 protected:
  /// The number of rows to score at once, so that a worker's scratch stays in the cache; at least
  /// 1.
  std::size_t rows_per_block() const;
};

/// Keeps the `count` largest parts of a score, the largest absolute value first.
template <class Part>
void keep_strongest(std::vector<Part>& parts, std::size_t count) {
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return std::abs(a.score) > std::abs(b.score);
  });
  if (parts.size() > count) parts.resize(count);
}

/// The sets of all rows, in order, where append(begin, end, sets) appends those of rows [begin,
/// end) to `sets`. Blocks of `grain` rows run on the executor's threads.
template <class Append>
LabelSets collect_blocks(std::size_t num_rows, std::size_t grain, Executor& executor,
                         const Append& append) {
  std::vector<LabelSets> blocks((num_rows + grain - 1) / grain);
  executor.for_ranges(num_rows, grain, [&](std::size_t begin, std::size_t end, int) {
    append(begin, end, blocks[begin / grain]);
  });
  LabelSets all;
  for (const LabelSets& block : blocks) {
    for (std::size_t i = 0; i < block.num_rows(); ++i) all.append(block[i]);
  }
  return all;
}

/// The sets that predict(i, scratch, set) writes for each row; each block has a scratch of its own
/// from make_scratch().
template <class MakeScratch, class Predict>
LabelSets collect_sets(std::size_t num_rows, std::size_t grain, Executor& executor,
                       const MakeScratch& make_scratch, const Predict& predict) {
  return collect_blocks(num_rows, grain, executor,
                        [&](std::size_t begin, std::size_t end, LabelSets& sets) {
                          auto scratch = make_scratch();
                          std::vector<LabelId> set;
                          for (std::size_t i = begin; i < end; ++i) {
                            predict(i, scratch, set);
                            sets.append(set);
                          }
                        });
}

/// What FilePredictor::evaluate_file() finds.
struct FileEvaluation {
  std::vector<NamedValue> values;
  std::vector<std::string> warnings = {};
};

/// A model whose examples are not rows (sentences, ...): it reads its own files.
class FilePredictor : public Predictor {
 public:
  const FilePredictor* files() const final { return this; }
  /// The predictions of the examples, as text in the file's own format.
  virtual std::string predict_file(const ExampleSource& source, Executor& executor,
                                   RunControl& control) const = 0;
  /// Metrics against the labels of the examples.
  virtual FileEvaluation evaluate_file(const ExampleSource& source, Executor& executor,
                                       RunControl& control) const = 0;
};

}  // namespace margrove
