// margrove generate

#include "base/atomic_file.hpp"
#include "cli/verbs.hpp"
#include "data/generators.hpp"
#include "data/svmlight_lines.hpp"
#include "data/zipf_text.hpp"
#include "margrove/writers.hpp"

namespace margrove::cli {
namespace {

/// The options of two tables by what has them.
struct SharedAndOwn {
  std::vector<OptionInfo> shared, of_first, of_second;
};
SharedAndOwn shared_and_own(const OptionTable& first, const OptionTable& second) {
  SharedAndOwn result;
  for (const OptionInfo& info : shown_options(first)) {
    (second.has(info.name) ? result.shared : result.of_first).push_back(info);
  }
  for (const OptionInfo& info : shown_options(second)) {
    if (!first.has(info.name)) result.of_second.push_back(info);
  }
  return result;
}

class Generate final : public Command {
 public:
  explicit Generate(CLI::App& app) {
    app.add_option("KIND", kind_,
                   "balanced (a complete binary tree), unbalanced (a caterpillar) or zipf (word "
                   "counts, labels of a tree or DAG, both by Zipf's law)")
        ->required()
        ->type_name("")
        ->check(CLI::IsMember({"balanced", "unbalanced", "zipf"}));
    app.add_option("DATA", data_, "SVMlight file to write")->required()->type_name("");
    app.add_option("--hierarchy", hierarchy_, "also write the label hierarchy")->type_name("FILE");
    const auto [shared, of_points, of_text] =
        shared_and_own(OptionTable(points_), OptionTable(text_));
    given_.declare(app, shared, "Data");
    const auto declare_own = [&](const std::vector<OptionInfo>& infos, const std::string& group) {
      const std::size_t first = app.get_options().size();
      given_.declare(app, infos, group);
      return named_options(app, first);
    };
    points_only_ = declare_own(of_points, "Data of kinds balanced and unbalanced");
    text_only_ = declare_own(of_text, "Data of kind zipf");
  }

  int run() override {
    const bool is_text = kind_ == "zipf";
    refuse_given(is_text ? points_only_ : text_only_, concat("is not an option of kind ", kind_));
    OptionTable table = is_text ? OptionTable(text_) : OptionTable(points_);
    set_options(table, given_.values());
    require_writable(data_);
    require_result_writable(hierarchy_, {});
    require_different_results(data_, hierarchy_);
    if (is_text) {
      write_text_rows();
    } else {
      write_points();
    }
    return kOk;
  }

 private:
  void write_points() const {
    CommandControl control(/*quiet=*/true);
    const GeneratedData generated =
        kind_ == "balanced" ? generate_balanced(points_) : generate_unbalanced(points_);
    control.start_writing();
    if (!hierarchy_.empty()) write_hierarchy(hierarchy_, generated.hierarchy);
    write_svmlight(data_, generated.data.X, generated.data.labels, generated.data.codec);
  }

  /// Rows are made and written one after the other. Until the file is complete, an interruption
  /// ends the program as everywhere outside the lifetime of a CommandControl.
  void write_text_rows() const {
    ZipfText text(text_);
    AtomicFile file(data_);
    std::string line;
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(text_.num_rows); ++i) {
      const auto [labels, features] = text.row(static_cast<std::uint64_t>(text_.first_row) + i);
      line.clear();
      append_svmlight_row(line, labels, text.codec().names(), features);
      line += '\n';
      file.write(line);
    }
    CommandControl control(/*quiet=*/true);
    control.start_writing();
    if (!hierarchy_.empty()) write_hierarchy(hierarchy_, text.hierarchy());
    file.commit();
  }

  std::string kind_, data_, hierarchy_;
  GeneratorOptions points_;  // of kinds balanced and unbalanced
  ZipfTextOptions text_;
  GivenOptions given_;
  std::vector<const CLI::Option*> points_only_, text_only_;
};

}  // namespace

Verb generate_verb() { return make_verb<Generate>("generate", "synthetic hierarchical data"); }

}  // namespace margrove::cli
