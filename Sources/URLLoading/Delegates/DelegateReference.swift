internal import Foundation
internal import Synchronization

/// A delegate as the engine calls it: conformances looked up once, optional methods called only where they exist.
///
/// Each method here has the name of the delegate's, with `reply` in place of a completion handler, and returns whether
/// the delegate has that method. When it returns false nothing was asked, and the next delegate, or the default, has
/// its turn. When it returns true, `reply` is called exactly once or never, as the user answers, on any thread; a
/// second answer is ignored.
///
/// A method is found missing when it is first called and not called again in the life of the process. The completion
/// form is tried before the `async` form. The first part of an `async` method, up to where it first waits, runs on the
/// calling thread.
package final class DelegateReference: Sendable {
    /// The delegate itself.
    package let delegate: any URLSessionDelegate

    let taskDelegate: (any URLSessionTaskDelegate)?
    let dataDelegate: (any URLSessionDataDelegate)?
    let downloadDelegate: (any URLSessionDownloadDelegate)?
    let streamDelegate: (any URLSessionStreamDelegate)?
    let webSocketDelegate: (any URLSessionWebSocketDelegate)?

    private let capabilities: DelegateCapabilities
    /// The methods of protocols the delegate does not conform to.
    private let foreign: DelegateMethod

    package init(_ delegate: any URLSessionDelegate) {
        self.delegate = delegate
        capabilities = .of(delegate)
        taskDelegate = delegate as? any URLSessionTaskDelegate
        guard let taskDelegate else {
            // All other protocols refine this one.
            dataDelegate = nil
            downloadDelegate = nil
            streamDelegate = nil
            webSocketDelegate = nil
            foreign = [.taskMethods, .dataMethods, .downloadMethods, .streamMethods, .webSocketMethods]
            return
        }
        dataDelegate = taskDelegate as? any URLSessionDataDelegate
        downloadDelegate = taskDelegate as? any URLSessionDownloadDelegate
        streamDelegate = taskDelegate as? any URLSessionStreamDelegate
        webSocketDelegate = taskDelegate as? any URLSessionWebSocketDelegate
        var foreign: DelegateMethod = []
        if dataDelegate == nil { foreign.formUnion(.dataMethods) }
        if downloadDelegate == nil { foreign.formUnion(.downloadMethods) }
        if streamDelegate == nil { foreign.formUnion(.streamMethods) }
        if webSocketDelegate == nil { foreign.formUnion(.webSocketMethods) }
        self.foreign = foreign
    }

    /// Whether the delegate is known to have none of `methods`. False may only mean that nobody has tried yet.
    @inline(__always)
    package func lacks(_ methods: DelegateMethod) -> Bool {
        capabilities.missing.union(foreign).isSuperset(of: methods)
    }

    /// Calls a method without an answer. False if the delegate does not have it.
    @inline(__always)
    func tell(_ method: DelegateMethod, _ call: () -> Void) -> Bool {
        if lacks(method) { return false }
        call()
        return !lacks(method)
    }

    /// Calls whichever form of a method with an answer the delegate has. False if it has neither.
    func ask<Answer: Sendable>(
        _ plain: DelegateMethod, _ asynchronous: DelegateMethod, reply: @escaping @Sendable (Answer) -> Void,
        call: (@escaping @Sendable (Answer) -> Void) -> Void, await asyncCall: @escaping @Sendable () async -> Answer
    ) -> Bool {
        if !lacks(plain) {
            let answer = SingleAnswer(reply)
            call { [self] value in
                // The default answers too, for those who forward to it; to the engine it is no answer.
                if !lacks(plain) { answer.give(value) }
            }
            if !lacks(plain) { return true }
        }
        if lacks(asynchronous) { return false }
        Task.immediate { [self] in
            let value = await asyncCall()
            if !lacks(asynchronous) { reply(value) }
        }
        // The default never waits, so it has run to its end by now.
        return !lacks(asynchronous)
    }
}

/// Lets the first answer through and drops the others.
private final class SingleAnswer<Answer: Sendable>: Sendable {
    private let isGiven = Atomic<Bool>(false)
    private let reply: @Sendable (Answer) -> Void

    init(_ reply: @escaping @Sendable (Answer) -> Void) { self.reply = reply }

    func give(_ answer: Answer) {
        if !isGiven.exchange(true, ordering: .relaxed) { reply(answer) }
    }
}
