#include "methods/crammer_singer.hpp"

#include <utility>

#include "outputs/path/path_svm.hpp"
#include "outputs/structured.hpp"

namespace margrove {

CrammerSinger::Fit CrammerSinger::train(const CsrView& X,
                                        std::span<const std::uint32_t> label_of_row,
                                        std::span<const double> row_weights,
                                        const Continuation& continuation, Executor& executor,
                                        RunControl& control) const {
  PathSvmResult found =
      train_path_svm(X, label_of_row, graph_, alpha_, {TaskLoss::normalized, costs_}, solver_,
                     executor, control, row_weights, continuation);
  Fit fit;
  fit.report = to_report(found.fit);
  fit.report.primal *= kRootWeight;
  fit.report.dual *= kRootWeight;
  fit.weights = std::move(found.weights);
  fit.state = std::move(found.state);
  return fit;
}

MemoryEstimate CrammerSinger::memory(const CsrView& X, const Continuation& continuation,
                                     int num_threads) const {
  return path_svm_memory(X, graph_, alpha_, !costs_.empty(), solver_, continuation, num_threads);
}

double CrammerSinger::weight_bytes(const CsrView& X) const {
  return path_weight_bytes(X, graph_, alpha_);
}

}  // namespace margrove
