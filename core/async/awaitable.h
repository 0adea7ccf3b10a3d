// The coroutine type of the house: Asio's, on a concrete executor, so that nothing is type-erased per wait.
//
// One io_context(1) a thread; a coroutine stays on the thread it was spawned on. Rules for awaiting are in
// the style guide: name it, then await it; no capturing lambda coroutines; spawned work takes values.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace sallyport {

using IoContext = boost::asio::io_context;
using Executor = boost::asio::io_context::executor_type;

template <class T>
using Awaitable = boost::asio::awaitable<T, Executor>;

// Completion token: the error code arrives as a value, never as an exception.
inline constexpr boost::asio::as_tuple_t<boost::asio::use_awaitable_t<Executor>> kAwait{};

}  // namespace sallyport
