#include "cli/ray_engine.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

#include "cli/training_reports.hpp"

namespace margrove::cli {
namespace {

/// The exit code of a program of the PATH; 128 + n after signal n. The program ends with this one.
int exit_code_of(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& text : command) arguments.push_back(const_cast<char*>(text.c_str()));
  arguments.push_back(nullptr);
  const ::pid_t child = ::fork();
  require(child >= 0, command.front(), ": cannot be started: ", std::strerror(errno));
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    std::signal(SIGPIPE, SIG_DFL);
    std::signal(SIGXFSZ, SIG_DFL);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);  // stdout is for the summary of the model
    ::execvp(arguments.front(), arguments.data());
    constexpr int kNotFound = 127;  // as shells say it
    ::_exit(kNotFound);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

void plan_rows_in_shards(TrainingArguments& arguments, MethodRun& run, std::size_t num_shards,
                         const std::string& folder, Executor& executor, CommandControl& control) {
  const RunOptions& options = arguments.run_options();
  const Method& method = arguments.method();
  require<InvalidOption>(options.time_limit_seconds == 0,
                         "option time_limit_seconds is given, but ",
                         "shards are trained to the end; limit max_passes instead");
  require<InvalidOption>(
      !method.read_examples ||
          !method.read_examples({arguments.data_path()}, run.options(), &control.run()),
      "method ", method.name, " cannot be trained in shards");
  TrainingArguments::Data rows = arguments.read(control, arguments.run_options().strict);
  const ChosenTerms terms = arguments.choose_terms(run, rows, executor, control);
  const PreparedRows prepared = prepare_rows(std::move(rows.raw), rows.hierarchy_or_null(),
                                             terms.preprocessing, {}, &control.run(), executor);
  const TrainingSet data = prepared.training_set();
  const Plan plan =
      plan_with_reports(method, run, options, data, prepared.preprocessing, executor, control);
  const bool is_settled = plan.problems != nullptr || arguments.note_of_method().empty();
  require<InvalidOption>(is_settled, "method ", method.name, arguments.note_of_method(),
                         ", trains labels together with these options and rows, which shards "
                         "cannot: give --multiclass ovr",
                         run.options().has("stack") ? ", and in a --stack centroids at most" : "");
  plan_shards(method, run, plan, data, prepared.preprocessing, num_shards, folder);
  control.end_progress();
}

void require_ray() {
  // A package that is missing gives no traceback; one that fails at its import does.
  const std::string program =
      "from importlib.util import find_spec\n"
      "if not (find_spec('margrove') and find_spec('ray')): raise SystemExit(1)\n"
      "import margrove.ray, ray";
  require(exit_code_of({"python3", "-c", program}) == 0,
          "engine ray needs python3 with the packages margrove and ray on the PATH: pip install ",
          "'margrove[ray]'");
}

void train_shards_on_ray(const std::string& folder, const RayOptions& options) {
  std::vector<std::string> command{"python3", "-m", "margrove.ray", folder};
  if (!options.address.empty()) command.insert(command.end(), {"--address", options.address});
  if (options.threads > 0) command.insert(command.end(), {"--threads", concat(options.threads)});
  if (options.quiet) command.emplace_back("--quiet");
  const int code = exit_code_of(command);
  require(code == 0, folder, ": training on Ray ended with exit code ", code,
          "; the same command continues with the shards that are not finished");
}

}  // namespace margrove::cli
