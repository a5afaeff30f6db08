#include "io/shards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/mapped_file.hpp"
#include "data/column_scale.hpp"
#include "io/label_pieces.hpp"
#include "io/safetensors.hpp"
#include "io/training_tensors.hpp"
#include "methods/labelled_rows.hpp"
#include "methods/registry.hpp"
#include "model/tensor_parts.hpp"
#include "outputs/leaf_sets.hpp"

namespace margrove {
namespace {

constexpr std::uint64_t kShardFormatVersion = 1;
const std::string kDataFormat = "margrove-shards";
const std::string kShardFormat = "margrove-shard";

/// A file of this format whose digest is right. Throws ModelFileError.
TensorMap open_checked(const std::string& path, const std::string& format) {
  auto file = std::make_shared<const MappedFile>(path, Links::refuse);
  TensorMap tensors = parse_safetensors(file->bytes(), path);
  tensors.keep_alive(std::move(file));
  tensors.check(tensors.has_text("format") && tensors.text("format") == format,
                "metadata format is missing or another one, but must be ", format);
  const std::uint64_t version = tensors.whole_number("format_version");
  tensors.check(version == kShardFormatVersion, "the file has format version ", version,
                ", but this program reads version ", kShardFormatVersion);
  tensors.check(tensors.text(kDigest) == digest_of(tensors),
                "the file is damaged: its digest is not that of its content");
  return tensors;
}

/// Throws ModelFileError unless the file calls itself a shard, if a damaged one.
void require_shard(const std::string& path) {
  try {
    const MappedFile file(path, Links::refuse);
    const TensorMap tensors = parse_safetensors(file.bytes(), path);
    tensors.check(tensors.has_text("format") && tensors.text("format") == kShardFormat,
                  "metadata format is missing or another one");
  } catch (const ModelFileError& error) {
    throw ModelFileError(concat(error.what(), "; it is no shard and is not replaced: remove it"));
  }
}

template <class T>
std::span<const T> mapped(const TensorMap& tensors, const std::string& name) {
  tensors.check(tensors.has(name), "tensor ", name, " is missing");
  const Tensor& tensor = tensors.tensors().find(name)->second;
  tensors.check(tensor.dtype == dtype_of<T>() && tensor.shape.size() == 1, "tensor ", name,
                " must have one axis and dtype ", name_of(dtype_of<T>()));
  // write_safetensors() aligns tensors: it puts those with the longest values first.
  tensors.check(reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) % alignof(T) == 0, "tensor ",
                name, " is not aligned to its values");
  return {reinterpret_cast<const T*>(tensor.bytes.data()), tensor.num_values()};
}

// The data ----------------------------------------------------------------------------------------

LabelSets load_sets(const TensorMap& tensors, std::size_t num_rows, std::size_t num_labels) {
  const auto pointers = tensors.get<std::int64_t>("sets.row_pointers", num_rows + 1);
  const auto labels = tensors.get<LabelId>("sets.labels");
  tensors.check(pointers.front() == 0 && std::ranges::is_sorted(pointers) &&
                    pointers.back() == std::ssize(labels),
                "tensor sets.row_pointers must ascend from 0 to ", labels.size());
  tensors.check(std::ranges::all_of(labels, [&](LabelId l) { return l < num_labels; }),
                "tensor sets.labels must be below ", num_labels);
  LabelSets sets;
  for (std::size_t i = 0; i < num_rows; ++i) {
    sets.append(std::span(labels).subspan(static_cast<std::size_t>(pointers[i]),
                                          static_cast<std::size_t>(pointers[i + 1] - pointers[i])));
  }
  return sets;
}

/// Whether anything has this name, be it a link that leads nowhere.
bool is_taken(const std::string& path) {
  std::error_code error;
  return std::filesystem::symlink_status(path, error).type() !=
         std::filesystem::file_type::not_found;
}

constexpr std::string_view kShardName = "shard-";
constexpr std::string_view kExtension = ".safetensors";

}  // namespace

std::string sharded_data(const std::string& folder) { return concat(folder, "/data", kExtension); }

std::vector<std::string> sharded_files(const std::string& folder) {
  std::vector<std::string> files{sharded_data(folder)};
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kShardName) && name.ends_with(kExtension)) files.push_back(entry.path());
  }
  return files;
}

void plan_shards(const Method& method, MethodRun& run, const Plan& plan, const TrainingSet& data,
                 const Preprocessing& preprocessing, std::size_t num_shards,
                 const std::string& folder) {
  require<InvalidOption>(num_shards >= 1, "option shards is 0, but must be >= 1");
  require<InvalidOption>(plan.problems != nullptr, "method ", method.name,
                         " with these options cannot be trained in ",
                         "shards: its labels are trained together. ", kMethodsInShards, " can");
  TensorMap out;
  out.put_text("format", kDataFormat);
  out.put_text("format_version", concat(kShardFormatVersion));
  out.put_text("num_shards", concat(std::min(num_shards, units_of(plan.problems()).size())));
  put_training(out, method, run, data, preprocessing);
  out.put_text(kDigest, digest_of(out));
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  require(!error, folder, ": the folder cannot be made: ", error.message());
  const std::string path = sharded_data(folder);
  remove_dead_parts(path, Links::refuse);
  if (is_taken(path)) {
    require(open_checked(path, kDataFormat).text(kDigest) == out.text(kDigest), folder,
            ": the folder holds the shards of another training (other data, options or number of "
            "shards); give an empty folder, or remove it");
    return;
  }
  write_safetensors(out, path, {}, Links::refuse);
}

struct ShardedTraining::Data {
  TensorMap tensors;
  CsrView X;
  LabelCodec codec;
  std::vector<std::string> label_names, other_names;
  LabelSets sets;
  LabelGraph hierarchy;
  std::optional<RecordFeatures> records;
  Preprocessing preprocessing;
  std::optional<KernelFeatures> kernel_features;
  std::vector<View> views;
  const Method* method = nullptr;
  std::unique_ptr<MethodRun> run;
  TrainingSet set;
  Plan plan;
  LabelProblems problems;
  std::vector<std::vector<Piece>> shards;

  explicit Data(const std::string& folder)
      : tensors(open_checked(sharded_data(folder), kDataFormat)) {
    try {
      load();
    } catch (const ModelFileError&) {
      throw;
    } catch (const Error& error) {  // of what reads rows and options of any origin
      tensors.fail(error.what());
    }
  }

  void load() {
    codec = load_labels(tensors);
    const std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
    X = CsrView(static_cast<std::uint32_t>(tensors.whole_number("num_columns", most)),
                mapped<std::int64_t>(tensors, "rows.row_pointers"),
                mapped<FeatureId>(tensors, "rows.columns"), mapped<float>(tensors, "rows.values"));
    check_csr(X);
    sets = load_sets(tensors, X.num_rows(), codec.size());
    if (tensors.has_text(kUnlabelledKey)) {
      sets.set_unlabelled(
          parse_enum<LabelSets::Unlabelled>(kUnlabelledKey, tensors.text(kUnlabelledKey)));
    }
    if (tensors.has("hierarchy.edges")) hierarchy = load_graph(tensors, "hierarchy", codec.size());
    if (tensors.has("labels.names.bytes")) label_names = tensors.get_strings("labels.names");
    tensors.check(label_names.empty() || label_names.size() == codec.size(),
                  "tensor labels.names does not name every label");
    if (tensors.has("labels.other_names.bytes")) {
      other_names = tensors.get_strings("labels.other_names");
    }
    tensors.check(other_names.empty() || other_names.size() == codec.size(),
                  "tensor labels.other_names has ", other_names.size(),
                  " texts, but must have one for each of the ", codec.size(), " labels");
    records = load_records(tensors);
    preprocessing = load_preprocessing(tensors);
    kernel_features = load_kernel_features(tensors);
    views = load_views(tensors);
    method = &find_method(tensors.text("method"));
    run = method->start();
    for (const auto& [key, value] : tensors.metadata()) {
      if (key.starts_with(kOptionKey)) run->options().set(key.substr(kOptionKey.size()), value);
    }
    set.X = X;
    set.labels = &sets;
    set.codec = &codec;
    if (tensors.has("hierarchy.edges")) set.hierarchy = &hierarchy;
    if (tensors.has("rows.weights")) {
      set.row_weights = mapped<double>(tensors, "rows.weights");
      tensors.check(set.row_weights.size() == X.num_rows(), "tensor rows.weights has ",
                    set.row_weights.size(), " values, but must have one for each of the ",
                    X.num_rows(), " rows");
    }
    set.columns_are_scaled = centres_columns(preprocessing);
    set.label_names = label_names;
    set.other_names = other_names;
    set.texts = texts_of(records, preprocessing);
    set.views = views;
    if (records) set.records = &*records;
    if (kernel_features) set.kernel_features = &*kernel_features;
    set.source = tensors.text("source");
    RunControl control;
    plan = plan_training(*method, *run, set, Executor::serial(), control);
    tensors.check(plan.problems != nullptr, "the method cannot be trained in shards");
    problems = plan.problems();
    const std::vector<Unit> units = units_of(problems);
    const std::uint64_t num_shards = tensors.whole_number("num_shards", units.size());
    tensors.check(num_shards >= 1, "metadata num_shards is 0, but must be >= 1");
    shards = divide(units, num_shards);
  }

  /// A finished shard. Throws ModelFileError.
  TensorMap open(const std::string& path, std::size_t shard) const {
    TensorMap opened = open_checked(path, kShardFormat);
    opened.check(opened.text("data_digest") == tensors.text(kDigest) &&
                     opened.whole_number("shard") == shard,
                 "the file is a shard of another training or another number");
    return opened;
  }
};

ShardedTraining::ShardedTraining(std::string folder)
    : folder_(std::move(folder)), data_(std::make_unique<const Data>(folder_)) {}
ShardedTraining::~ShardedTraining() = default;

std::size_t ShardedTraining::num_shards() const { return data_->shards.size(); }

std::string ShardedTraining::path(std::size_t shard) const {
  require<InvalidOption>(shard < num_shards(), "shard is ", shard, ", but must be below ",
                         num_shards());
  return fmt::format("{}/{}{:05}{}", folder_, kShardName, shard, kExtension);
}

ShardState ShardedTraining::state(std::size_t shard) const {
  const std::string file = path(shard);
  if (!is_taken(file)) return ShardState::missing;
  try {
    data_->open(file, shard);
    return ShardState::finished;
  } catch (const ModelFileError&) {
    return ShardState::damaged;
  }
}

ShardSummary ShardedTraining::summary(std::size_t shard) const {
  const std::string file = path(shard);
  const TensorMap tensors = data_->open(file, shard);
  ShardSummary summary;
  const auto primal = tensors.get<double>("primal"), dual = tensors.get<double>("dual");
  summary.num_labels = primal.size();
  summary.primal = std::accumulate(primal.begin(), primal.end(), 0.0);
  summary.dual = std::accumulate(dual.begin(), dual.end(), 0.0);
  summary.seconds = tensors.number("seconds");
  summary.threads = static_cast<int>(tensors.whole_number("threads", 1U << 20U));
  summary.bytes = std::filesystem::file_size(file);
  return summary;
}

bool ShardedTraining::train(std::size_t shard, Executor& executor, RunControl& control) const {
  const std::string file = path(shard);
  remove_dead_parts(file, Links::refuse);
  const ShardState found = state(shard);
  if (found == ShardState::finished) return true;
  if (found == ShardState::damaged) require_shard(file);
  const double start = control.seconds();
  const auto trained = fit_pieces(data_->problems, data_->shards[shard], executor, control);
  if (control.stop_reason() != Stop::converged) return false;
  TensorMap out;
  out.put_text("format", kShardFormat);
  out.put_text("format_version", concat(kShardFormatVersion));
  out.put_text("data_digest", data_->tensors.text(kDigest));
  out.put_text("shard", concat(shard));
  out.put_number("seconds", control.seconds() - start);
  out.put_text("threads", concat(executor.size()));
  put_trained(out, trained);
  out.put_text(kDigest, digest_of(out));
  write_safetensors(out, file, {}, Links::refuse);
  return true;
}

ModelParts ShardedTraining::merge(Executor& executor, RunControl& control) const {
  std::string missing;
  std::size_t num_missing = 0;
  constexpr std::size_t kMaxNamed = 8;
  for (std::size_t s = 0; s < num_shards(); ++s) {
    if (is_taken(path(s))) continue;
    if (num_missing++ < kMaxNamed) missing += concat(missing.empty() ? "" : ", ", s);
  }
  if (num_missing > kMaxNamed) missing += concat(" and ", num_missing - kMaxNamed, " more");
  require(num_missing == 0, folder_, ": ", num_missing, " of ", num_shards(),
          " shards are not trained: ", missing);
  // Problems are asked for in their order, and shards have them in the same order.
  std::size_t next_shard = 0, position = 0;
  std::vector<Trained> trained;
  Plan plan = data_->plan;
  const LabelFitSource source = [&](std::size_t problem) {
    const std::uint32_t num_labels = data_->problems.problems[problem].num_labels;
    std::vector<LabelFit> fits(num_labels);
    for (std::uint32_t count = 0; count < num_labels; ++count) {
      while (position == trained.size()) {
        const std::string file = path(next_shard);
        trained = get_trained(data_->open(file, next_shard++), data_->problems.X.num_columns());
        position = 0;
      }
      Trained& next = trained[position++];
      require<ModelFileError>(next.problem == problem && next.label < num_labels,
                              path(next_shard - 1), ": it has other labels than the training");
      fits[next.label] = std::move(next.fit);
    }
    return fits;
  };
  plan.train = [&](Executor& threads, RunControl& share) {
    return data_->plan.finish(source, threads, share);
  };
  return train_model(*data_->method, *data_->run, plan, data_->set, data_->preprocessing, executor,
                     control);
}

}  // namespace margrove
