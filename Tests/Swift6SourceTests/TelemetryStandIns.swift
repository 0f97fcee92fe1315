// What Logging.md calls of swift-log, swift-metrics and swift-distributed-tracing, with the signatures that those
// packages declare. The package depends on none of them, and the compiler checks the examples against these. They are
// never called.

// MARK: swift-log

struct Logger: Sendable {
    enum Level: String, Sendable { case trace, debug, info, notice, warning, error, critical }

    typealias Metadata = [String: MetadataValue]

    enum MetadataValue: Sendable {
        case string(String)
        indirect case dictionary(Metadata)
        indirect case array([MetadataValue])
    }

    struct Message: ExpressibleByStringLiteral, ExpressibleByStringInterpolation, Sendable {
        init(stringLiteral value: String) {}
    }

    init(label: String) {}

    func log(
        level: Level, _ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil,
        source: @autoclosure () -> String? = nil, file: String = #fileID, function: String = #function,
        line: UInt = #line
    ) {}
}

// MARK: swift-metrics

/// The module, since the example names the type with it: Foundation has a `Timer` too.
enum Metrics {
    final class Timer {
        init(label: String, dimensions: [(String, String)] = []) {}

        func record(duration: Duration) {}
    }
}

final class Counter {
    init(label: String, dimensions: [(String, String)] = []) {}

    func increment<Amount: BinaryInteger>(by amount: Amount) {}
    func increment() { increment(by: 1) }
}

// MARK: swift-distributed-tracing

protocol TracerInstant: Comparable, Hashable, Sendable {
    var nanosecondsSinceEpoch: UInt64 { get }
}

enum SpanKind: Sendable { case server, client, producer, consumer, `internal` }

struct SpanStatus: Sendable {
    enum Code: Sendable { case ok, error }

    init(code: Code, message: String? = nil) {}
}

enum SpanAttribute: Sendable { case string(String) }

struct SpanAttributes: Sendable {
    subscript(name: String) -> SpanAttribute? {
        get { nil }
        set {}
    }
}

protocol TracingSpan: Sendable {
    var attributes: SpanAttributes { get nonmutating set }
    func setStatus(_ status: SpanStatus)
    func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant)
}

private struct UnrecordedSpan: TracingSpan {
    var attributes: SpanAttributes {
        get { SpanAttributes() }
        nonmutating set {}
    }
    func setStatus(_ status: SpanStatus) {}
    func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {}
}

func startSpan(
    _ operationName: String, ofKind kind: SpanKind = .internal, at instant: @autoclosure () -> some TracerInstant,
    function: String = #function, file fileID: String = #fileID, line: UInt = #line
) -> any TracingSpan {
    UnrecordedSpan()
}
