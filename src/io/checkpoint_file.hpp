#pragma once
// Checkpoints of a training in a file (docs/command_line.md).

#include <cstddef>
#include <optional>
#include <string>

#include "base/checkpoint.hpp"
#include "margrove/control.hpp"
#include "margrove/executor.hpp"
#include "methods/training.hpp"

namespace margrove {

/// What must be the same for a later run to go on from a checkpoint: method, options, the file of
/// costs, data, preprocessing and the program with its version. Of examples that are not rows,
/// `data.source` is the file that counts. O(bytes of the data).
std::string training_digest(const Method& method, MethodRun& run, const TrainingSet& data,
                            const Preprocessing& preprocessing, const std::string& program);

/// One file, which is replaced as a whole: after a crash it has an earlier state or the last one.
class CheckpointFile final : public Checkpoint {
 public:
  /// training: training_digest(). seconds: the time between two writes; it is longer where writes
  /// would take more than a twentieth of it. If is_resumed, what a killed write has left is
  /// removed, and if the file exists, the run goes on from it: throws ModelFileError if it is
  /// damaged or of another training.
  CheckpointFile(std::string path, std::string training, double seconds, bool is_resumed,
                 const RunControl& control);

  const TensorMap* saved() const override { return saved_ ? &*saved_ : nullptr; }
  bool is_due() const override;
  void write(TensorMap state) override;

  const std::string& path() const { return path_; }
  bool has_written() const { return has_written_; }
  /// Seconds of training in the runs before this one.
  double seconds_before() const { return seconds_before_; }
  /// Why the last write failed; empty if it did not.
  const std::string& failure() const { return failure_; }

 private:
  std::string path_, training_, failure_;
  double seconds_;
  const RunControl& control_;
  std::optional<TensorMap> saved_;
  double seconds_before_ = 0;
  double due_;  // by the clock of the control
  bool has_written_ = false;
};

/// Makes the plan, which is one of data.continuation.checkpoint, go on from that and write to it.
/// Solvers that make passes keep their state. A plan of independent problems trains some blocks of
/// labels after another, with the same bits as without a checkpoint, and keeps those that are done;
/// it throws OutOfTimeLimit where the control ends it, because labels would be missing then. Throws
/// InvalidOption if the method does neither.
void use_checkpoint(const Method& method, const TrainingSet& data, Plan& plan);

}  // namespace margrove
