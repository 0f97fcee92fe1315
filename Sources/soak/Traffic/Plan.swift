import Foundation

/// The actions, disturbances and allowed results of one request. Determined by the seed and the number of the request.
struct Plan: Sendable {
    enum Form: Sendable, CaseIterable {
        case handler
        case delegate
        case taskDelegate
        case data
        case bytes
    }

    enum Target: Sendable {
        case plain
        case secure
        /// A name that must be resolved.
        case named
        case resetting
        case insecure
        case refusing
    }

    /// The disturbance of the task. Times are in milliseconds.
    enum Interference: Sendable, Equatable {
        case nothing
        case cancelBeforeResume
        case cancelAtOnce
        case cancel(after: Int)
        case cancelAtResponse
        case cancelAtData
        case suspendAtOnce(for: Int)
        case suspend(after: Int, for: Int)
        /// The task is created, never resumed, and released.
        case neverResume
        /// The task is created, held, and cancelled later.
        case holdAndCancel(after: Int)
        /// An asynchronous reader that stops after so many bytes.
        case readSome(Int)
    }

    let index: Int
    var form: Form
    var target: Target
    var answer: ServerScript
    var interference: Interference
    var uploadSize: Int?
    var timeout: Double?
    /// The delay of the delegate's answers about responses and redirects; nil means that it answers at once.
    var deliberation: Int?
    var refusesRedirects: Bool
    var wantsWholeBody: Bool
    var priority: Float

    init(index: Int, seed: UInt64, forms: [Form]) {
        var random = SeededGenerator(seed: seed, series: index)
        self.index = index
        form = random.pick(forms)
        answer = Self.answer(&random)
        target = Self.target(&random)
        uploadSize = random.chance(10) ? random.pick([0, 10, 3000, 200_000]) : nil
        interference = random.chance(35) ? Self.interference(&random, form) : .nothing
        if form == .data || form == .bytes {
            // These requests create and resume their tasks themselves.
            switch interference {
            case .neverResume: interference = .cancelAtOnce
            case .holdAndCancel(let time): interference = .cancel(after: time)
            default: break
            }
        }
        deliberation = random.chance(20) ? random.number(0...10) : nil
        refusesRedirects = random.chance(10)
        wantsWholeBody = random.chance(15)
        priority = random.chance(10) ? random.pick([0, 0.25, 0.75, 1]) : 0.5
        if answer == .silence {
            if random.chance(50) {
                interference = .cancel(after: random.number(0...40))
            } else {
                interference = .nothing
                timeout = Double(random.number(50...200)) / 1000
            }
            if target != .secure { target = .plain }
        }
    }

    var isAsync: Bool { form == .data || form == .bytes }

    private static func size(_ random: inout SeededGenerator) -> Int {
        switch random.number(0...99) {
        case ..<10: 0
        case ..<60: random.number(1...1500)
        case ..<85: random.number(1500...40_000)
        case ..<98: random.number(40_000...200_000)
        default: random.number(200_000...2_000_000)
        }
    }

    private static func answer(_ random: inout SeededGenerator) -> ServerScript {
        switch random.number(0...99) {
        case ..<62:
            let framing: ServerScript.Framing =
                switch random.number(0...99) {
                case ..<60: .length
                case ..<75: .chunked
                case ..<82: .untilClose
                default: .deflate
                }
            return .body(
                size: size(&random), framing: framing, after: random.chance(15) ? random.number(1...20) : 0)
        case ..<68:
            return .paced(
                size: size(&random), pieces: random.number(2...6), milliseconds: random.number(1...10))
        case ..<76: return .thenClosed(size: random.number(0...3000), milliseconds: random.number(0...3))
        case ..<82: return .redirect(times: random.number(1...4), size: size(&random))
        case ..<85: return .informational(size: size(&random))
        case ..<93: return .cut(random.pick(ServerScript.Phase.allCases), isReset: random.chance(50))
        case ..<95: return .garbage
        default: return .silence
        }
    }

    private static func target(_ random: inout SeededGenerator) -> Target {
        switch random.number(0...99) {
        case ..<60: .plain
        case ..<85: .secure
        case ..<95: .named
        case ..<97: .resetting
        case ..<98: .insecure
        default: .refusing
        }
    }

    private static func interference(_ random: inout SeededGenerator, _ form: Form) -> Interference {
        switch random.number(0...99) {
        case ..<15: .cancelBeforeResume
        case ..<30: .cancelAtOnce
        case ..<50: .cancel(after: random.number(0...25))
        case ..<60: .cancelAtResponse
        case ..<70: .cancelAtData
        case ..<77: .suspendAtOnce(for: random.number(0...20))
        case ..<88: .suspend(after: random.number(0...15), for: random.number(0...20))
        case ..<94: form == .bytes ? .readSome(random.number(0...5000)) : .neverResume
        default: form == .bytes ? .readSome(0) : .holdAndCancel(after: random.number(0...20))
        }
    }
}

extension Plan: CustomStringConvertible {
    var description: String {
        var text = "request \(index): \(form) \(answer) at \(target), \(interference)"
        if let uploadSize { text += ", uploads \(uploadSize)" }
        if let timeout { text += ", timeout \(timeout) s" }
        if let deliberation { text += ", answers after \(deliberation) ms" }
        if refusesRedirects { text += ", refuses redirects" }
        if wantsWholeBody { text += ", wants the body whole" }
        return text
    }
}
