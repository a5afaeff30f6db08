#include "margrove/model/training.hpp"

#include "margrove/data/svmlight_reader.hpp"

namespace margrove {

RawRows read_rows(const std::string& path, bool is_text, const LabelCodec* codec,
                  bool known_labels_only, RunControl* control) {
  RawRows raw;
  raw.is_text = is_text;
  raw.source = path;
  if (is_text) {
    TextDataset data =
        read_text(path, {.codec = codec, .known_labels_only = known_labels_only}, control);
    raw.documents = std::move(data.documents);
    raw.labels = std::move(data.labels);
    raw.codec = std::move(data.codec);
  } else {
    SvmlightOptions options;
    options.codec = codec;
    options.known_labels_only = known_labels_only;
    Dataset data = read_svmlight(path, options, control);
    raw.X = std::move(data.X);
    raw.labels = std::move(data.labels);
    raw.codec = std::move(data.codec);
  }
  return raw;
}

RawRows select_rows(const RawRows& raw, std::span<const std::uint32_t> rows) {
  RawRows selected;
  selected.is_text = raw.is_text;
  if (raw.is_text) {
    selected.documents.reserve(rows.size());
    for (const std::uint32_t i : rows) selected.documents.push_back(raw.documents[i]);
  } else {
    selected.X = select_rows(raw.X.view(), rows);
  }
  selected.labels = select_rows(raw.labels, rows);
  selected.codec = raw.codec;
  selected.source = raw.source;
  return selected;
}

Preprocessing fit_preprocessing(const RawRows& raw, const PreprocessingOptions& options) {
  validate(options);
  require<InvalidOption>(options.text + options.tfidf + options.normalize <= 1,
                         "options text, tfidf and normalize: more than one is given, but each says "
                         "what the rows are");
  const TfidfOptions tfidf{.min_document_frequency = options.min_document_frequency,
                           .sublinear_tf = options.sublinear_tf};
  if (options.text) return Preprocessing::fit_text(raw.documents, tfidf);
  if (options.tfidf) return Preprocessing::fit_counts(raw.X, tfidf);
  if (options.normalize) return Preprocessing::unit_norm();
  return {};
}

CsrMatrix preprocess(const Preprocessing& preprocessing, const RawRows& raw) {
  const bool takes_text = preprocessing.kind == Preprocessing::Kind::text_tfidf;
  require(takes_text == raw.is_text, raw.source, ": the rows are ",
          raw.is_text ? "texts" : "numbers", ", but the model takes ",
          takes_text ? "texts" : "numbers");
  return takes_text ? preprocessing.apply(raw.documents) : preprocessing.apply(raw.X.view());
}

TrainingSet PreparedRows::training_set() const {
  TrainingSet set;
  set.X = X;
  set.labels = &labelled.labels;
  set.codec = &labelled.codec;
  if (labelled.has_hierarchy) set.hierarchy = &labelled.hierarchy;
  set.row_weights = row_weights;
  set.source = source;
  return set;
}

PreparedRows prepare_rows(RawRows raw, const Hierarchy* hierarchy,
                          const PreprocessingOptions& options) {
  PreparedRows prepared;
  prepared.source = raw.source;
  prepared.labelled = label_rows(raw.labels, raw.codec, hierarchy, raw.source);
  prepared.preprocessing = fit_preprocessing(raw, options);
  prepared.X = prepared.preprocessing.kind == Preprocessing::Kind::none
                   ? std::move(raw.X)
                   : preprocess(prepared.preprocessing, raw);
  return prepared;
}

void require_memory(const MethodRun& run, const TrainingSet& data, double limit_gigabytes) {
  if (limit_gigabytes <= 0) return;
  const double gigabytes = static_cast<double>(run.memory_estimate(data)) / 1e9;
  require(gigabytes <= limit_gigabytes, data.source, ": training would take about ", gigabytes,
          " GB, but must not take more than ", limit_gigabytes,
          " GB; drop rare features (min_document_frequency) or raise memory_limit");
}

Model train_model(const Method& method, MethodRun& run, const TrainingSet& data,
                  const Preprocessing& preprocessing, Executor& executor, RunControl& control) {
  require<InvalidOption>(data.hierarchy != nullptr || !needs_hierarchy(method, run.options()),
                         "method ", method.name, " needs a hierarchy, but none is given");
  TrainResult result = run.train(data, executor, control);
  Model model;
  model.method = method.name;
  model.options = option_values(run.options());
  model.labels = data.codec != nullptr ? *data.codec : data.examples->codec();
  const auto num_labels = static_cast<std::uint32_t>(model.labels.size());
  model.has_hierarchy = data.hierarchy != nullptr;
  model.hierarchy = model.has_hierarchy ? *data.hierarchy : LabelGraph::flat(num_labels);
  model.training_rows.assign(num_labels, 0);
  if (data.labels != nullptr) {
    for (std::size_t i = 0; i < data.labels->num_rows(); ++i) {
      for (const LabelId label : (*data.labels)[i]) ++model.training_rows[label];
    }
  }
  model.preprocessing = preprocessing;
  model.report = std::move(result.report);
  model.predictor = std::move(result.predictor);
  return model;
}

}  // namespace margrove
