#include "io/model_file.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "io/safetensors.hpp"
#include "methods/registry.hpp"
#include "model/log_odds.hpp"
#include "model/sentence_predictor.hpp"
#include "model/tensor_parts.hpp"

namespace margrove {
namespace {

const std::string kOptionPrefix = "option.";

// The report --------------------------------------------------------------------------------------

void save_number_if_known(TensorMap& out, const std::string& key, double value) {
  if (std::isfinite(value)) out.put_number(key, value);
}

void save_report(TensorMap& out, const FitReport& report) {
  out.put_enum("fit.stop", report.stop);
  out.put_text("fit.passes", concat(report.passes));
  save_number_if_known(out, "fit.primal", report.primal);
  save_number_if_known(out, "fit.dual", report.dual);
  save_number_if_known(out, "fit.relative_gap", report.relative_gap);
  save_number_if_known(out, "fit.name_weight", report.name_weight);
  save_number_if_known(out, "fit.unseen_score", report.unseen_score);
  std::vector<double> curve;
  for (const auto& [pass, primal, dual] : report.curve) {
    curve.insert(curve.end(), {static_cast<double>(pass), primal, dual});
  }
  out.put<double>("fit.curve", curve, {report.curve.size(), 3});
}

FitReport load_report(const TensorMap& tensors) {
  FitReport report;
  report.stop = tensors.get_enum<Stop>("fit.stop");
  report.passes =
      static_cast<int>(tensors.whole_number("fit.passes", std::numeric_limits<int>::max()));
  report.primal = tensors.number_if_known("fit.primal");
  report.dual = tensors.number_if_known("fit.dual");
  report.relative_gap = tensors.number_if_known("fit.relative_gap");
  report.name_weight = tensors.number_if_known("fit.name_weight");
  report.unseen_score = tensors.number_if_known("fit.unseen_score");
  const auto curve = tensors.get_matrix<double>("fit.curve", TensorMap::kAnySize, 3);
  for (std::size_t k = 0; k < curve.size(); k += 3) {
    tensors.check(curve[k] >= 0 && curve[k] <= std::numeric_limits<int>::max(),
                  "tensor fit.curve holds a pass that is not a number >= 0");
    report.curve.push_back({static_cast<int>(curve[k]), curve[k + 1], curve[k + 2]});
  }
  return report;
}

// Calibration ------------------------------------------------------------------------------------

/// Models of label sets have a shift, too.
bool has_shift(const ModelParts& model) {
  return model.calibration && !model.rows().gives_one_label();
}

void save_calibration(TensorMap& out, const ModelParts& model) {
  const Calibration& calibration = *model.calibration;
  out.put_number("calibration.temperature", calibration.temperature);
  if (has_shift(model)) out.put_number("calibration.shift", calibration.shift);
  out.put_text("calibration.num_rows", concat(calibration.num_rows));
  out.put_number("calibration.error", calibration.error);
  out.put_number("calibration.error_before", calibration.error_before);
}

std::optional<Calibration> load_calibration(const TensorMap& tensors) {
  if (!tensors.has_text("calibration.temperature")) return std::nullopt;
  Calibration calibration;
  calibration.temperature = tensors.number("calibration.temperature");
  tensors.check(calibration.temperature > 0, "metadata calibration.temperature is ",
                calibration.temperature, ", but must be > 0");
  if (tensors.has_text("calibration.shift")) {
    calibration.shift = tensors.number("calibration.shift");
  }
  calibration.num_rows = static_cast<std::int64_t>(
      tensors.whole_number("calibration.num_rows", std::numeric_limits<std::uint32_t>::max()));
  calibration.error = tensors.number("calibration.error");
  calibration.error_before = tensors.number("calibration.error_before");
  return calibration;
}

// The whole ---------------------------------------------------------------------------------------

TensorMap to_tensors(const ModelParts& model) {
  TensorMap out;
  out.put_text("format", "margrove");
  out.put_text("format_version", concat(format_version_of(model)));
  out.put_text("method", model.method);
  out.put_text("kind", std::string(model.predictor->kind()));
  for (const auto& [name, value] : model.options) out.put_text(kOptionPrefix + name, value);
  save_labels(out, model.labels);
  out.put_view<std::uint32_t>("labels.training_rows", model.training_rows);
  if (!model.label_names.empty()) out.put_strings("labels.names", model.label_names);
  if (model.has_hierarchy) save_graph(out, "hierarchy", model.hierarchy);
  if (model.records) save_records(out, *model.records);
  save_preprocessing(out, model.preprocessing);
  if (model.kernel_features) save_kernel_features(out, *model.kernel_features);
  save_views(out, model.views);
  if (model.token_keys) out.put_strings("token_keys", *model.token_keys);
  save_report(out, model.report);
  if (model.calibration) save_calibration(out, model);
  model.predictor->save(out);
  return out;
}

/// What preprocessing makes must be what the predictor takes.
void check_columns(const TensorMap& tensors, const ModelParts& model) {
  const RowPredictor* rows = model.predictor->rows();
  if (rows == nullptr) return;
  const Preprocessing& preprocessing = model.preprocessing;
  std::uint32_t taken = rows->num_features();
  if (model.kernel_features) {
    tensors.check(model.kernel_features->size() == taken, "there are ",
                  model.kernel_features->size(), " kernel features, but the predictor takes ",
                  taken);
    taken = model.kernel_features->num_columns();
  }
  for (const std::size_t made : {preprocessing.columns.size(), preprocessing.spread.size()}) {
    tensors.check(made == 0 || made == taken, "preprocessing makes ", made, " columns, but the ",
                  model.kernel_features ? "kernel features take " : "predictor takes ", taken);
  }
}

ModelParts from_tensors(const TensorMap& tensors) {
  tensors.check(tensors.has_text("format") && tensors.text("format") == "margrove",
                "this is not a model of Margrove: metadata format is missing or another one");
  const std::uint64_t version = tensors.whole_number("format_version");
  tensors.check(version >= 1 && version <= kModelFormatVersion, "the file has format version ",
                version, ", but this program reads versions up to ", kModelFormatVersion,
                "; use a newer program");
  ModelParts model;
  model.method = tensors.text("method");
  for (const auto& [key, value] : tensors.metadata()) {
    if (key.starts_with(kOptionPrefix)) {
      model.options.emplace_back(key.substr(kOptionPrefix.size()), value);
    }
  }
  model.labels = load_labels(tensors);
  const auto num_labels = static_cast<std::uint32_t>(model.labels.size());
  model.training_rows = tensors.get<std::uint32_t>("labels.training_rows", num_labels);
  if (tensors.has("labels.names.bytes")) {
    model.label_names = tensors.get_strings("labels.names");
    tensors.check(model.label_names.size() == num_labels, "tensor labels.names holds ",
                  model.label_names.size(), " names, but there are ", num_labels, " labels");
  }
  model.has_hierarchy = tensors.has("hierarchy.edges");
  model.hierarchy = model.has_hierarchy ? load_graph(tensors, "hierarchy", num_labels)
                                        : LabelGraph::flat(num_labels);
  model.records = load_records(tensors);
  model.preprocessing = load_preprocessing(tensors);
  model.kernel_features = load_kernel_features(tensors);
  model.views = load_views(tensors);
  if (tensors.has("token_keys.bytes")) {
    model.token_keys = tensors.get_strings("token_keys");
    tensors.check(std::ranges::is_sorted(*model.token_keys, std::ranges::less_equal{}),
                  "tensor token_keys holds keys that are not ascending");
  }
  model.report = load_report(tensors);
  model.calibration = load_calibration(tensors);
  model.predictor = load_predictor(tensors.text("kind"), tensors, num_labels);
  check_columns(tensors, model);
  return model;
}

/// Turns InvalidInput of the parts of a model into ModelFileError.
ModelParts checked_model(const TensorMap& tensors) {
  try {
    return from_tensors(tensors);
  } catch (const InvalidInput& error) {
    tensors.fail(error.what());
  }
}

}  // namespace

std::uint64_t format_version_of(const ModelParts& model) {
  const bool has_text_columns = model.records && !model.records->selection.text.empty();
  const Preprocessing& texts = has_text_columns ? model.records->text : model.preprocessing;
  const bool has_vectors = model.records && !model.records->vector_widths.empty();
  if (const auto* sentences = model.predictor->sentences()) return sentences->format_version();
  if (is_multinomial(model)) return 12;  // earlier programs read its scores as one-vs-rest
  if (model.kernel_features && model.kernel_features->learned) return 11;
  if (model.kernel_features || has_shift(model)) return 10;
  if (texts.cuts_by(TextTerms::WordRule::scripts) || has_vectors) return 9;
  if (texts.vectors.width() > 0) return 8;
  if (!texts.terms.stem.is_none()) return 7;
  if (texts.cuts_by(TextTerms::WordRule::marks)) return 6;
  if (texts.terms.num_hashes > 0) return 5;
  if (model.predictor->is_compressed()) return 4;
  if (texts.has_own_terms()) return 3;
  return model.preprocessing.columns.empty() ? 1 : 2;
}

void save_model(const ModelParts& model, const std::string& path) {
  // A model that cannot be read, such as one with weights that are not finite, must not take the
  // place of one that can.
  write_safetensors(to_tensors(model), path, [&path](const std::string& written) {
    try {
      TensorMap tensors = read_safetensors(written);
      tensors.check_stored_values();  // without a second copy of the weights in memory
      checked_model(tensors);
    } catch (const ModelFileError& error) {
      throw InvalidInput(concat(path,
                                ": the trained model cannot be used, and nothing was written: ",
                                std::string_view(error.what()).substr(written.size() + 2)));
    }
  });
}

std::string serialize_model(const ModelParts& model) {
  return serialize_safetensors(to_tensors(model));
}

std::uint64_t model_file_size(const ModelParts& model) {
  return safetensors_size(to_tensors(model));
}

ModelParts load_model(const std::string& path, ReadWeights weights) {
  TensorMap tensors = read_safetensors(path);
  if (weights == ReadWeights::now) tensors.share_store(nullptr);
  return checked_model(tensors);
}

ModelParts parse_model(std::span<const std::byte> bytes, const std::string& source) {
  return checked_model(parse_safetensors(bytes, source));
}

}  // namespace margrove
