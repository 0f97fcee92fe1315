/// A question to the client that a request waits for. It is asked once for each fetch.
struct ClientQuestion<Value> {
    private enum State {
        case unasked
        case asked
        case answered(Value)
    }

    private var state = State.unasked

    /// True once: then it has to be asked now.
    mutating func mustAsk() -> Bool {
        guard case .unasked = state else { return false }
        state = .asked
        return true
    }

    /// Takes the answer. False if nobody waits for it.
    @discardableResult
    mutating func take(_ answer: Value) -> Bool {
        guard case .asked = state else { return false }
        state = .answered(answer)
        return true
    }

    var answer: Value? { if case .answered(let answer) = state { answer } else { nil } }

    var isAnswered: Bool { if case .answered = state { true } else { false } }
}
