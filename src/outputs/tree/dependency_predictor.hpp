#pragma once
// Prediction, evaluation and storage of dependency parsers.

#include <memory>
#include <string>
#include <vector>

#include "model/predictor.hpp"
#include "outputs/tree/dependency_tree.hpp"
#include "outputs/tree/relation_table.hpp"

namespace margrove {

/// Heads of the words of a CoNLL-U file, and their relations by the most frequent one of the same
/// parts of speech and direction. predict_file: head, tab, relation per line, a blank line after
/// each sentence. evaluate_file: UAS and LAS, punctuation included.
class DependencyPredictor final : public FilePredictor {
 public:
  /// 2^bits weights; the table holds ids of `names`.
  DependencyPredictor(int bits, std::vector<float> weights, LabelCodec names,
                      RelationTable relations);

  std::string_view kind() const override { return "dependency"; }
  void save(TensorMap& out) const override;
  static std::unique_ptr<Predictor> load(const TensorMap& tensors, std::uint32_t num_labels);
  std::vector<Fact> facts() const override;
  std::string predict_file(const std::string& path, Executor& executor,
                           RunControl& control) const override;
  std::vector<NamedValue> evaluate_file(const std::string& path, Executor& executor,
                                        RunControl& control) const override;

 private:
  std::vector<DependencyTree> decode(const std::vector<ParserSentence>& sentences,
                                     Executor& executor, RunControl& control) const;

  int bits_;
  std::vector<float> weights_;
  LabelCodec names_;
  RelationTable relations_;
};

}  // namespace margrove
