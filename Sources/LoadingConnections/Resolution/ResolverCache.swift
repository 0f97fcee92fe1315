/// What was answered lately, and for how long that is believed. A value without a clock; times are nanoseconds of a clock
/// that never goes back.
protocol ResolverCache: Sendable {
    associatedtype Question: Hashable, Sendable
    associatedtype Answer: Sendable

    init()

    func answer(to question: Question, at now: Int64) -> Answer?
    mutating func remember(_ answer: Answer, to question: Question, at now: Int64)
    mutating func forget(_ host: String)
    mutating func forgetAll()
}
