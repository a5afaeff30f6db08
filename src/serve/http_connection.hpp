#pragma once
// One connection: reads requests, asks the service, writes answers.

#include "serve/server_state.hpp"

namespace margrove::serve {

/// Answers the requests of a connection until it ends.
asio::awaitable<void> serve_connection(ServerState& server, asio::ip::tcp::socket socket);
/// Answers 503 and closes the connection.
asio::awaitable<void> refuse_connection(ServerState& server, asio::ip::tcp::socket socket);

}  // namespace margrove::serve
