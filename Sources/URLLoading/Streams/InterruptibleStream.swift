internal import Foundation

/// An input stream that any thread may close, which ends a `read` that waits on another thread.
protocol InterruptibleStream: InputStream {}
