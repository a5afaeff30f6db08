#pragma once
// What `--method structured` trains: predictors of tags, trees and label sets.

#include <memory>
#include <string>
#include <vector>

#include "model/predictor.hpp"
#include "outputs/chain/token_features.hpp"
#include "outputs/field/pairwise_field.hpp"
#include "outputs/label_set/node_sets.hpp"
#include "outputs/tree/dependency_tree.hpp"

namespace margrove {

/// Tags of the tokens of a column file. predict_file: one tag a line, a blank line after each
/// sentence. evaluate_file: token and sentence accuracy, and span scores where the tags are spans.
class ChainPredictor final : public FilePredictor {
 public:
  ChainPredictor(FeatureTable features, LabelCodec tags, std::size_t num_columns,
                 std::vector<float> weights);

  std::string_view kind() const override { return "chain"; }
  void save(TensorMap& out) const override;
  static std::unique_ptr<Predictor> load(const TensorMap& tensors, std::uint32_t num_labels);
  std::vector<Fact> facts() const override;
  std::string predict_file(const std::string& path, Executor& executor,
                           RunControl& control) const override;
  std::vector<NamedValue> evaluate_file(const std::string& path, Executor& executor,
                                        RunControl& control) const override;

 private:
  ColumnCorpus read(const std::string& path, bool has_tags) const;
  std::vector<TagSequence> decode(const ColumnCorpus& corpus, Executor& executor,
                                  RunControl& control) const;

  FeatureTable features_;
  LabelCodec tags_;
  std::size_t num_columns_;
  std::vector<float> weights_;
};

/// Heads of the words of a CoNLL-U file, and their relations by the most frequent one of the same
/// parts of speech and direction. predict_file: head, tab, relation a line, a blank line after each
/// sentence. evaluate_file: UAS and LAS, punctuation included.
class DependencyPredictor final : public FilePredictor {
 public:
  /// relation_table: 2^relation_bits entries, the relation for a hashed pair of tags.
  DependencyPredictor(int bits, std::vector<float> weights, LabelCodec relations,
                      std::vector<std::uint32_t> relation_table);

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
  LabelCodec relations_;
  std::vector<std::uint32_t> relation_table_;
};
ParserSentence parser_sentence(const DependencySentence& sentence);
/// Where the relation of an arc stands in the table.
std::size_t relation_slot(const ParserSentence& sentence, std::size_t head, std::size_t word,
                          std::size_t table_size);

/// Label sets with pairwise terms; scores() are those of the single labels.
class FieldPredictor final : public RowPredictor {
 public:
  FieldPredictor(std::uint32_t num_features, std::uint32_t num_labels, double bias,
                 std::vector<float> weights);

  std::string_view kind() const override { return "field"; }
  void save(TensorMap& out) const override;
  static std::unique_ptr<Predictor> load(const TensorMap& tensors, std::uint32_t num_labels);
  std::vector<Fact> facts() const override;
  std::uint32_t num_features() const override { return num_features_; }
  std::uint32_t num_labels() const override { return num_labels_; }
  void scores(const CsrView& X, std::size_t begin, std::size_t end,
              std::span<float> scores) const override;
  LabelSets predict(const CsrView& X, Executor& executor) const override;

 private:
  std::uint32_t num_features_, num_labels_;
  double bias_;
  std::vector<float> weights_;
};

/// Label sets of a hierarchy; a set is given by its leaves, a spawned leaf by its inner label.
class NodeSetPredictor final : public RowPredictor {
 public:
  NodeSetPredictor(std::uint32_t num_features, std::uint32_t num_labels, double bias,
                   LabelGraph graph, std::vector<LabelId> label_of_node,
                   std::vector<float> weights);

  std::string_view kind() const override { return "node-sets"; }
  void save(TensorMap& out) const override;
  static std::unique_ptr<Predictor> load(const TensorMap& tensors, std::uint32_t num_labels);
  std::vector<Fact> facts() const override;
  std::uint32_t num_features() const override { return num_features_; }
  std::uint32_t num_labels() const override { return num_labels_; }
  void scores(const CsrView& X, std::size_t begin, std::size_t end,
              std::span<float> scores) const override;
  LabelSets predict(const CsrView& X, Executor& executor) const override;

 private:
  std::uint32_t num_features_, num_labels_;
  double bias_;
  LabelGraph graph_;
  std::vector<LabelId> label_of_node_;
  std::vector<float> weights_;
  LabelSetInference inference_;
};

}  // namespace margrove
