#include "io/liblinear_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "base/atomic_file.hpp"
#include "base/number_text.hpp"
#include "data/input_file.hpp"
#include "data/text_scan.hpp"
#include "margrove/linear_estimators.hpp"
#include "methods/registry.hpp"
#include "model/linear_predictor.hpp"
#include "model/log_odds.hpp"
#include "model/raw_units.hpp"

namespace margrove {
namespace {

/// LIBLINEAR's names of the classifiers, with the corresponding method and options.
struct SolverType {
  std::string_view name;
  std::string_view method;
  OptionValues options;
};
const std::array<SolverType, 8>& solver_types() {
  static const std::array<SolverType, 8> all{{
      {"L2R_L1LOSS_SVC_DUAL", "flat-svm", {{"loss", "hinge"}}},
      {"L2R_L2LOSS_SVC_DUAL", "flat-svm", {{"loss", "squared-hinge"}}},
      {"MCSVM_CS", "flat-svm", {{"multiclass", "crammer-singer"}}},
      {"L2R_LR_DUAL", "flat-lr", {}},
      {"L2R_LR", "flat-lr", {}},
      {"L1R_LR", "flat-lr", {}},
      {"L2R_L2LOSS_SVC", "flat-svm", {{"loss", "squared-hinge"}}},
      {"L1R_L2LOSS_SVC", "flat-svm", {{"loss", "squared-hinge"}}},
  }};
  return all;
}

// Export ------------------------------------------------------------------------------------------

std::string_view solver_type_of(const ModelParts& model) {
  if (model.method == FlatLrOptions::kMethod) {
    // LIBLINEAR has no multinomial loss, but this type has a classifier for each of two classes.
    return is_multinomial(model) ? "MCSVM_CS" : "L2R_LR_DUAL";
  }
  FlatSvmOptions options;  // those of the model's options that flat-svm has
  OptionTable table(options);
  for (const auto& [name, text] : model.options) {
    if (table.has(name)) table.set(name, text);
  }
  if (options.multiclass == MulticlassKind::crammer_singer) return "MCSVM_CS";
  return options.loss == FlatSvmLoss::hinge ? "L2R_L1LOSS_SVC_DUAL" : "L2R_L2LOSS_SVC_DUAL";
}

const LinearPredictor& flat_predictor_of(const ModelParts& model) {
  const LinearPredictor* linear = model.predictor->linear();
  require(linear != nullptr && linear->parts().graph.num_edges() == 0,
          "export to LIBLINEAR: the model is of method ", model.method,
          ", but must be a flat linear one");
  require(linear->gives_one_label(),
          "export to LIBLINEAR: the model gives label sets, but must give each row one label");
  return *linear;
}

/// The labels of the classes as LIBLINEAR has them, which knows whole numbers only.
std::vector<std::string> numbers_of(const ModelParts& model, const LinearPredictor::Parts& parts) {
  std::vector<std::string> numbers;
  std::map<std::string, std::string> label_of;
  for (const NodeId n : parts.candidates) {
    const std::string& label = model.labels.name(parts.label_of_node[n]);
    const auto number = whole_number_text(label);
    require(number && read_number<int>(*number), "export to LIBLINEAR: label is '", label,
            "', but must be a whole number of 32 bits; number the labels before training");
    const auto [same, is_new] = label_of.emplace(*number, label);
    require(is_new, "export to LIBLINEAR: labels are '", same->second, "' and '", label,
            "', but must differ as numbers; write each of them in one way before training");
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace

void export_liblinear(const ModelParts& model, const std::string& path) {
  model.require_own_columns("export to LIBLINEAR");
  const LinearPredictor predictor(
      in_raw_units(flat_predictor_of(model).parts(), model.preprocessing));
  const LinearPredictor::Parts& parts = predictor.parts();
  const std::string_view solver = solver_type_of(model);
  const std::size_t num_classes = parts.candidates.size();
  const bool difference = num_classes == 2 && solver != "MCSVM_CS";

  std::string head = concat("solver_type ", solver, "\nnr_class ", num_classes, "\nlabel");
  for (const std::string& number : numbers_of(model, parts)) head += concat(" ", number);
  head += concat("\nnr_feature ", predictor.num_features(), "\nbias ",
                 parts.bias > 0 ? parts.bias : -1.0, "\nw\n");
  AtomicFile file(path);
  file.write(head);
  std::string line;
  WeightPass pass(parts.weights);
  std::vector<float> of_nodes(parts.weights.num_nodes());
  const auto weight = [&](std::size_t c) { return of_nodes[parts.candidates[c]]; };
  for (FeatureId j = 0; j < parts.weights.num_features(); ++j) {
    line.clear();
    std::ranges::fill(of_nodes, 0.0F);
    pass.for_each_of(j, [&](NodeId n, float w) { of_nodes[n] = w; });
    for (std::size_t c = 0; c < (difference ? 1 : num_classes); ++c) {
      append_number(line, difference ? weight(0) - weight(1) : weight(c));
      line += ' ';
    }
    line += '\n';
    file.write(line);
  }
  file.commit();
}

// Import ------------------------------------------------------------------------------------------

namespace {

/// Lines of the file, split into words.
class Reader {
 public:
  Reader(std::unique_ptr<ByteSource> source, const std::string& path)
      : path_(path), blocks_(std::move(source), path) {}

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    throw ModelFileError(concat(path_, ":", line_, ": ", parts...));
  }

  /// False at the end of the file.
  bool next_line() {
    ++line_;
    while (rest_.empty()) {
      if (!blocks_.next()) return false;
      rest_ = blocks_.text();
    }
    words_ = detail::take_to('\n', rest_);
    return true;
  }
  /// The next word of the line; empty at its end.
  std::string_view word() {
    const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
    while (!words_.empty() && blank(words_.front())) words_.remove_prefix(1);
    std::size_t end = 0;
    while (end < words_.size() && !blank(words_[end])) ++end;
    const std::string_view found = words_.substr(0, end);
    words_.remove_prefix(end);
    return found;
  }
  template <class Number>
  Number number(std::string_view what, Number lowest, Number highest) {
    const std::string_view text = word();
    const auto value = read_number<Number>(text);
    if (!value || !(*value >= lowest) || !(*value <= highest)) {
      fail(what, " is '", text, "', but must be a number in [", lowest, ", ", highest, "]");
    }
    return *value;
  }

 private:
  std::string path_;
  LineBlocks blocks_;
  std::string_view rest_, words_;
  std::size_t line_ = 0;
};

struct Header {
  const SolverType* solver = nullptr;
  std::uint32_t num_classes = 0;
  std::uint32_t num_features = 0;
  double bias = -1;
  std::vector<int> labels;

  bool is_difference() const { return num_classes == 2 && solver->name != "MCSVM_CS"; }
  std::size_t columns() const { return is_difference() ? 1 : num_classes; }
};

constexpr std::uint32_t kMaxClasses = 1U << 24U, kMaxFeatures = (1U << 31U) - 2;

Header read_header(Reader& reader) {
  Header header;
  bool has_features = false;
  while (reader.next_line()) {
    const std::string_view key = reader.word();
    if (key == "solver_type") {
      const std::string_view name = reader.word();
      for (const SolverType& type : solver_types()) {
        if (type.name == name) header.solver = &type;
      }
      if (header.solver == nullptr) {
        reader.fail("solver_type is '", name, "', but must be that of a classifier");
      }
    } else if (key == "nr_class") {
      header.num_classes = reader.number<std::uint32_t>(key, 2, kMaxClasses);
    } else if (key == "label") {
      constexpr int kAny = std::numeric_limits<int>::max();
      for (std::uint32_t c = 0; c < header.num_classes; ++c) {
        header.labels.push_back(reader.number<int>(key, -kAny - 1, kAny));
      }
    } else if (key == "nr_feature") {
      header.num_features = reader.number<std::uint32_t>(key, 1, kMaxFeatures);
      has_features = true;
    } else if (key == "bias") {
      header.bias = reader.number<double>(key, -1e30, 1e30);
    } else if (key == "w") {
      if (header.solver == nullptr || header.labels.empty() || !has_features) {
        reader.fail("weights begin, but solver_type, nr_class, label or nr_feature is missing");
      }
      if (header.labels.size() != header.num_classes) {
        reader.fail("there are ", header.labels.size(), " labels, but must be nr_class, ",
                    header.num_classes);
      }
      return header;
    } else {
      reader.fail("found '", key.substr(0, 40), "', but must be a key of a LIBLINEAR model");
    }
  }
  reader.fail("the file ends before the weights");
}

/// One row per feature, and one column per class in ascending order of the labels. A difference w
/// becomes w/2 for one class and -w/2 for the other.
WeightMatrix read_weights(Reader& reader, const Header& header,
                          std::span<const std::uint32_t> column_of_class) {
  std::vector<std::int64_t> pointers{0};
  std::vector<FeatureId> columns;
  std::vector<float> values;
  std::vector<float> row(header.num_classes);
  const std::size_t num_rows = header.num_features + (header.bias >= 0 ? 1U : 0U);
  for (std::size_t j = 0; j < num_rows; ++j) {
    if (!reader.next_line()) reader.fail("the file ends after ", j, " of ", num_rows, " weights");
    for (std::size_t c = 0; c < header.columns(); ++c) {
      row[column_of_class[c]] = static_cast<float>(reader.number<double>("weight", -1e30, 1e30));
    }
    if (!reader.word().empty()) reader.fail("there are more weights than ", header.columns());
    if (header.is_difference()) {
      const float half = row[column_of_class[0]] / 2;
      row[column_of_class[0]] = half;
      row[column_of_class[1]] = -half;
    }
    if (j >= header.num_features && header.bias == 0) continue;  // a feature that is always 0
    for (std::uint32_t c = 0; c < header.num_classes; ++c) {
      if (row[c] == 0) continue;
      columns.push_back(c);
      values.push_back(row[c]);
    }
    pointers.push_back(static_cast<std::int64_t>(columns.size()));
  }
  return WeightMatrix::sparse(
      CsrMatrix(header.num_classes, std::move(pointers), std::move(columns), std::move(values)));
}

ModelParts read_model(Reader reader) {
  const Header header = read_header(reader);
  std::vector<std::uint32_t> order(header.num_classes);
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](auto a, auto b) { return header.labels[a] < header.labels[b]; });
  std::vector<std::uint32_t> column_of_class(header.num_classes);
  std::vector<std::string> names;
  for (std::uint32_t k = 0; k < order.size(); ++k) {
    if (k > 0 && header.labels[order[k]] == header.labels[order[k - 1]]) {
      reader.fail("label ", header.labels[order[k]], " occurs twice");
    }
    column_of_class[order[k]] = k;
    names.push_back(concat(header.labels[order[k]]));
  }

  LinearPredictor::Parts parts;
  parts.weights = read_weights(reader, header, column_of_class);
  parts.bias = std::max(header.bias, 0.0);
  parts.graph = LabelGraph::flat(header.num_classes);
  parts.label_of_node.resize(header.num_classes);
  std::iota(parts.label_of_node.begin(), parts.label_of_node.end(), 0U);
  parts.candidates = parts.label_of_node;
  parts.num_labels = header.num_classes;

  ModelParts model;
  const Method& method = find_method(header.solver->method);
  const auto run = method.start();
  set_options(run->options(), header.solver->options);
  model.method = method.name;
  model.options = option_values(run->options());
  model.labels = LabelCodec(names);
  model.labels.set_are_numbers();
  model.hierarchy = LabelGraph::flat(header.num_classes);
  model.training_rows.assign(header.num_classes, 1);
  model.predictor = std::make_unique<LinearPredictor>(std::move(parts));
  return model;
}

}  // namespace

ModelParts import_liblinear(const std::string& path) { return read_model({open_file(path), path}); }

ModelParts parse_liblinear(std::string_view text, const std::string& source) {
  return read_model({open_memory(text, source), source});
}

}  // namespace margrove
