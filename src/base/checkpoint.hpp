#pragma once
// The state of a long training that is written while it runs, so that a later run can go on from
// it.

#include "base/tensors.hpp"

namespace margrove {

/// Where a solver leaves its state, and where it finds that of an earlier run on the same problem.
/// Whoever makes it sees to it that problem and options are the same.
class Checkpoint {
 public:
  virtual ~Checkpoint() = default;
  /// What write() got last in an earlier run; null if this run starts anew.
  virtual const TensorMap* saved() const = 0;
  /// Whether enough time has passed since the last write().
  virtual bool is_due() const = 0;
  /// Keeps the state in place of the one before. It does not throw where that fails, so that the
  /// training goes on.
  virtual void write(TensorMap state) = 0;
};

/// The state of an earlier run, or null.
inline const TensorMap* saved_state(const Checkpoint* checkpoint) {
  return checkpoint != nullptr ? checkpoint->saved() : nullptr;
}

}  // namespace margrove
