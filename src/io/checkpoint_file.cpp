#include "io/checkpoint_file.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "base/atomic_file.hpp"
#include "base/digest.hpp"
#include "base/mapped_file.hpp"
#include "io/label_pieces.hpp"
#include "io/safetensors.hpp"
#include "io/training_tensors.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

constexpr std::uint64_t kFormatVersion = 1;
const std::string kFormat = "margrove-checkpoint";
const std::string kTraining = "training_digest";

std::string digest_of_file(const std::string& path) {
  const MappedFile file(path);
  Digest digest;
  digest.add(file.bytes());
  return digest.to_text();
}

TensorMap read_state(const std::string& path, const std::string& training) {
  TensorMap tensors = read_safetensors(path);
  tensors.check(tensors.has_text("format") && tensors.text("format") == kFormat,
                "the file is no checkpoint");
  tensors.check(tensors.whole_number("format_version") == kFormatVersion,
                "the checkpoint has format version ", tensors.text("format_version"),
                ", but this program reads version ", kFormatVersion);
  tensors.check(tensors.text(kTraining) == training,
                "the checkpoint is of another training: data, method, options or the version of "
                "the program differ; give the same ones, or start anew without --resume");
  TensorMap copy(path);
  for (const auto& [key, text] : tensors.metadata()) copy.put_text(key, text);
  for (const auto& [name, tensor] : tensors.tensors()) {
    std::vector<std::byte> bytes(tensor.num_values() * size_of(tensor.dtype));
    tensor.copy_to(bytes.data());
    auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    copy.put_raw(name, {.dtype = tensor.dtype, .shape = tensor.shape, .bytes = *owner});
    copy.keep_alive(std::move(owner));
  }
  copy.check(copy.text(kDigest) == digest_of(copy),
             "the checkpoint is damaged: its digest is not that of its content");
  return copy;
}

}  // namespace

std::string training_digest(const Method& method, MethodRun& run, const TrainingSet& data,
                            const Preprocessing& preprocessing, const std::string& program) {
  TensorMap all("training");
  all.put_text("program", program);
  if (data.examples != nullptr) {
    require<InvalidOption>(std::filesystem::is_regular_file(data.source),
                           "option checkpoint is given, but ", data.source, " is not a file");
    all.put_text("method", method.name);
    for (const auto& [name, value] : option_values(run.options()))
      all.put_text(kOptionKey + name, value);
    all.put_text("examples", digest_of_file(data.source));
  } else {
    put_training(all, method, run, data, preprocessing);
  }
  const std::string costs =
      run.options().has("cost_matrix") ? run.options().get("cost_matrix") : "";
  if (!costs.empty()) all.put_text("cost_matrix", digest_of_file(costs));
  return digest_of(all);
}

CheckpointFile::CheckpointFile(std::string path, std::string training, double seconds,
                               bool is_resumed, const RunControl& control)
    : path_(std::move(path)),
      training_(std::move(training)),
      seconds_(seconds),
      control_(control),
      due_(control.seconds() + seconds) {
  if (!is_resumed) return;
  remove_dead_parts(path_);
  if (!std::filesystem::exists(path_)) return;
  saved_ = read_state(path_, training_);
  seconds_before_ = saved_->number("seconds");
}

bool CheckpointFile::is_due() const { return control_.seconds() >= due_; }

void CheckpointFile::write(TensorMap state) {
  constexpr double kLeastPause = 20;  // times the duration of a write
  const double start = control_.seconds();
  state.put_text("format", kFormat);
  state.put_text("format_version", concat(kFormatVersion));
  state.put_text(kTraining, training_);
  state.put_number("seconds", seconds_before_ + start);
  state.put_text(kDigest, digest_of(state));
  try {
    write_safetensors(state, path_);
    failure_.clear();
    has_written_ = true;
  } catch (const Error& error) {
    failure_ = error.what();
  }
  const double end = control_.seconds();
  due_ = end + std::max(seconds_, kLeastPause * (end - start));
}

namespace {

TrainResult train_in_parts(const Plan& plan, Checkpoint& checkpoint, const std::string& source,
                           Executor& executor, RunControl& control) {
  constexpr std::size_t kBlocksPerThread = 4;
  const LabelProblems all = plan.problems();
  const std::vector<Unit> units = units_of(all);
  std::vector<Trained> done;
  std::size_t next = 0;
  if (const TensorMap* saved = checkpoint.saved()) {
    next = saved->whole_number("units", units.size());
    done = get_trained(*saved, all.X.num_columns());
  }
  const auto write = [&] {
    TensorMap state("checkpoint");
    put_trained(state, done);
    state.put_text("units", concat(next));
    checkpoint.write(std::move(state));
  };
  auto num_done = std::ssize(done);
  std::int64_t num_labels = 0;
  for (const LabelProblem& problem : all.problems) num_labels += problem.num_labels;
  RunControl counted(control, [&](Progress progress) {  // each report is of one label
    progress.done = ++num_done;
    progress.total = num_labels;
    return control.proceed(progress);
  });
  const std::size_t step = kBlocksPerThread * static_cast<std::size_t>(executor.size());
  while (next < units.size()) {
    const std::size_t end = std::min(units.size(), next + step);
    std::vector<Trained> part =
        fit_pieces(all, pieces_of(all, units, next, end), executor, counted);
    if (!control.proceed()) {
      write();
      throw OutOfTimeLimit(concat(source, ": ", done.size(), " of ", num_labels,
                                  " classifiers are trained and in the checkpoint; --resume goes "
                                  "on with the others"));
    }
    std::ranges::move(part, std::back_inserter(done));
    next = end;
    if (checkpoint.is_due()) write();
  }
  std::size_t position = 0;
  const LabelFitSource fits_of = [&](std::size_t problem) {
    std::vector<LabelFit> fits(all.problems[problem].num_labels);
    for (; position < done.size() && done[position].problem == problem; ++position) {
      require<ModelFileError>(done[position].label < fits.size(), source,
                              ": the checkpoint has labels that the training lacks");
      fits[done[position].label] = std::move(done[position].fit);
    }
    return fits;
  };
  return plan.finish(fits_of, executor, control);
}

}  // namespace

void use_checkpoint(const Method& method, const TrainingSet& data, Plan& plan) {
  Checkpoint* const checkpoint = data.continuation.checkpoint;
  if (plan.keeps_checkpoints) return;
  require<InvalidOption>(
      plan.problems != nullptr, "option checkpoint is given, but method ", method.name,
      " with these options does not keep its state. top-down-svm and label-trees do, flat-svm, "
      "flat-lr and "
      "level-svm with multiclass ovr (in a stack centroids at most) do, and hsvm, nhsvm and "
      "structured with solver bcfw or sgd, without partial labels");
  plan.train = [plan, checkpoint, source = data.source](Executor& executor, RunControl& control) {
    return train_in_parts(plan, *checkpoint, source, executor, control);
  };
}

}  // namespace margrove
