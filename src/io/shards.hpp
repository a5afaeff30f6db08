#pragma once
// Trainings in shards: pure tasks on files of one folder, which any number of processes and
// machines may carry out in any order. docs/cluster.md.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "margrove/control.hpp"
#include "margrove/executor.hpp"
#include "methods/training.hpp"
#include "model/model.hpp"

namespace margrove {

/// The methods whose labels are independent problems, for messages.
inline constexpr std::string_view kMethodsInShards =
    "flat-svm, flat-lr and level-svm with multiclass ovr (in a stack centroids at most), "
    "top-down-svm and label-trees";

/// Writes what the shards of a training need to `folder`, which is made if there is none. A folder
/// that holds the same training already keeps its finished shards. There are at most `num_shards`
/// (>= 1), and no more than blocks of labels. Throws InvalidOption if the method does not consist
/// of independent problems, InvalidInput if the folder holds another training or cannot be written.
void plan_shards(const Method& method, MethodRun& run, const Plan& plan, const TrainingSet& data,
                 const Preprocessing& preprocessing, std::size_t num_shards,
                 const std::string& folder);

/// The file of the data of a training in this folder, and the files of its shards that exist.
std::string sharded_data(const std::string& folder);
std::vector<std::string> sharded_files(const std::string& folder);

enum class ShardState { missing, finished, damaged };

/// The facts that a finished shard records.
struct ShardSummary {
  std::size_t num_labels = 0;  // trained classifiers, those of all folds
  double primal = 0;           // sums of the labels' certificates
  double dual = 0;
  double seconds = 0;  // of training
  int threads = 0;
  std::uint64_t bytes = 0;  // of the file
};

/// The training in a folder. The rows are mapped, so that the processes of a machine share them.
class ShardedTraining {
 public:
  /// Throws ModelFileError if the folder holds no training, or a damaged one.
  explicit ShardedTraining(std::string folder);
  ~ShardedTraining();
  ShardedTraining(const ShardedTraining&) = delete;
  ShardedTraining& operator=(const ShardedTraining&) = delete;

  std::size_t num_shards() const;
  /// O(bytes of the shard). A file of another training counts as damaged.
  ShardState state(std::size_t shard) const;
  /// Throws ModelFileError unless the shard is finished.
  ShardSummary summary(std::size_t shard) const;
  /// Trains a shard and writes its file, whole or not at all. A finished shard is left as it is, a
  /// damaged one is trained anew; anything else in its place, also a link, is a ModelFileError. Two
  /// processes may train the same shard. False if `control` ended the training, of which nothing is
  /// written then. Throws InvalidOption for shard >= num_shards().
  bool train(std::size_t shard, Executor& executor, RunControl& control) const;
  /// The model, with the bits of train_model() on the same data. Throws InvalidInput naming the
  /// shards that are missing, ModelFileError naming a damaged one.
  ModelParts merge(Executor& executor, RunControl& control) const;

 private:
  struct Data;
  std::string path(std::size_t shard) const;
  std::string folder_;
  std::unique_ptr<const Data> data_;
};

}  // namespace margrove
