#include "model/process_encoder.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/out_of_time.hpp"
#include "margrove/errors.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): not declared everywhere

namespace margrove {
namespace {

static_assert(std::endian::native == std::endian::little, "the numbers of the protocol are");

// What a frame of a reply begins with.
constexpr std::uint32_t kVectors = 0, kReport = 1, kFailure = 2;
constexpr std::size_t kLongestReply = 1 << 16;
constexpr int kPollMilliseconds = 100;

std::string start_failure(const std::string& interpreter, const std::string& reason) {
  return concat("vectors need ", interpreter, " with the packages margrove, onnxruntime and ",
                "tokenizers: pip install 'margrove[vectors]'", reason);
}

}  // namespace

/// The child and the socket that is its stdin and stdout.
class ProcessEncoder::Process {
 public:
  Process(const std::string& model, int num_threads, const std::string& interpreter) {
    int ends[2];
    require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0,
            "vectors: no socket: ", std::strerror(errno));
    socket_ = ends[0];
    std::vector<std::string> command{interpreter, "-m", "margrove.vectors", "serve", model};
    if (num_threads > 0) command.insert(command.end(), {"--threads", concat(num_threads)});
    const int error = spawn(command, ends[1]);
    ::close(ends[1]);
    if (error == 0) return;
    ::close(socket_);
    throw InvalidInput(start_failure(interpreter, concat(": ", std::strerror(error))));
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    ::close(socket_);
    ::kill(child_, SIGTERM);
    while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  void send(std::span<const char> bytes, RunControl* control) {
    while (!bytes.empty()) {
      wait_for(POLLOUT, control);
      const ::ssize_t sent =
          ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      require(sent >= 0, kGone);
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
  }

  void receive(std::span<char> bytes, RunControl* control) {
    while (!bytes.empty()) {
      wait_for(POLLIN, control);
      const ::ssize_t received = ::recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (received < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      require(received > 0, kGone);
      bytes = bytes.subspan(static_cast<std::size_t>(received));
    }
  }

  std::uint32_t receive_number(RunControl* control) {
    std::uint32_t number = 0;
    receive({reinterpret_cast<char*>(&number), sizeof(number)}, control);
    return number;
  }

  /// A line without its end, or what came before the process ended.
  std::string receive_line(RunControl* control) {
    std::string line;
    for (char next = 0; line.size() < kLongestReply; line += next) {
      wait_for(POLLIN, control);
      if (::recv(socket_, &next, 1, 0) != 1 || next == '\n') break;
    }
    return line;
  }

 private:
  static constexpr std::string_view kGone = "vectors: the process that makes them has ended";

  /// Returns an error number. The child is in a process group of its own, as Ctrl-C is for this
  /// process to handle.
  int spawn(const std::vector<std::string>& command, int child_end) {
    std::vector<char*> arguments;
    for (const std::string& text : command) arguments.push_back(const_cast<char*>(text.c_str()));
    arguments.push_back(nullptr);
    ::posix_spawn_file_actions_t files;
    ::posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_adddup2(&files, child_end, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, child_end, STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    ::sigset_t defaults;
    ::sigemptyset(&defaults);
    ::sigaddset(&defaults, SIGPIPE);
    ::posix_spawnattr_setsigdefault(&attributes, &defaults);
    const int error =
        ::posix_spawnp(&child_, arguments.front(), &files, &attributes, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
    return error;
  }

  void wait_for(short event, RunControl* control) const {
    for (;;) {
      end_if_out_of_time(control);
      ::pollfd waited{socket_, event, 0};
      if (::poll(&waited, 1, kPollMilliseconds) > 0) return;
    }
  }

  int socket_ = -1;
  ::pid_t child_ = -1;
};

ProcessEncoder::ProcessEncoder(std::string model, int num_threads, std::string interpreter)
    : model_(std::move(model)), num_threads_(num_threads), interpreter_(std::move(interpreter)) {}

ProcessEncoder::~ProcessEncoder() = default;

ProcessEncoder::Process& ProcessEncoder::started(RunControl* control) {
  if (process_) return *process_;
  auto process = std::make_unique<Process>(model_, num_threads_, interpreter_);
  const std::string line = process->receive_line(control);
  try {
    const auto said = nlohmann::json::parse(line);
    require(!said.contains("error"), "vectors: ", said.value("error", std::string()));
    require(said.value("version", 0) == 1, start_failure(interpreter_, "; its version is another"));
    facts_ = {said.value("name", model_), said.value("digest", std::string()),
              said.value("width", 0U)};
  } catch (const nlohmann::json::exception&) {
    throw InvalidInput(start_failure(interpreter_, ""));
  }
  process_ = std::move(process);
  return *process_;
}

TextEncoder::Facts ProcessEncoder::facts(RunControl* control) {
  const std::lock_guard lock(mutex_);
  if (!facts_) started(control);
  return *facts_;
}

std::vector<float> ProcessEncoder::encode(std::span<const std::string_view> texts,
                                          RunControl* control) {
  const std::lock_guard lock(mutex_);
  Process& process = started(control);
  std::string request;
  const auto add_number = [&](std::size_t number) {
    const auto narrow = static_cast<std::uint32_t>(number);
    request.append(reinterpret_cast<const char*>(&narrow), sizeof(narrow));
  };
  add_number(texts.size());
  for (const std::string_view text : texts) {
    add_number(text.size());
    request += text;
  }
  try {
    process.send(request, control);
    std::uint32_t frame = process.receive_number(control);
    while (frame == kReport) {
      process.receive_number(control);
      frame = process.receive_number(control);
    }
    if (frame == kVectors) {
      std::vector<float> vectors(texts.size() * facts_->width);
      process.receive({reinterpret_cast<char*>(vectors.data()), 4 * vectors.size()}, control);
      return vectors;
    }
    require(frame == kFailure, "vectors: the process that makes them sent what it must not");
    std::string message(std::min<std::size_t>(process.receive_number(control), kLongestReply), ' ');
    process.receive(message, control);
    throw InvalidInput(concat("vectors: ", message));
  } catch (...) {
    process_.reset();  // its next reply would be that to this request
    throw;
  }
}

namespace {

std::shared_ptr<TextEncoder> encoder_named(const std::string& name, const EncoderProcess& process) {
  return std::make_shared<ProcessEncoder>(name, process.num_threads, process.interpreter);
}

}  // namespace

void name_encoder(TfidfOptions& options, const EncoderProcess& process) {
  if (options.vectors == "none" || options.encoder != nullptr) return;
  options.encoder = encoder_named(options.vectors, process);
}

void name_encoder(Preprocessing::Vectors& vectors, const EncoderProcess& process) {
  if (vectors.width() > 0) vectors.encoder = encoder_named(vectors.facts.name, process);
}

}  // namespace margrove
