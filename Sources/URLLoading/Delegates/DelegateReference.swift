internal import Foundation
internal import Synchronization

/// A delegate with its protocol conformances, looked up once. Optional methods are called only if they are implemented.
///
/// Each method here has the name of the delegate method, with `reply` instead of a completion handler. It returns
/// whether the delegate implements the method. If not, the next delegate is called, or the default applies. Otherwise
/// `reply` is called at most once, on any thread; further replies are ignored.
///
/// A missing method is detected by its first call, and then not called again in the lifetime of the process. The
/// variant with a completion handler is tried before the `async` variant. An `async` method runs on the calling thread
/// up to its first suspension point.
package final class DelegateReference: Sendable {
    /// The delegate itself.
    package let delegate: any URLSessionDelegate

    let taskDelegate: (any URLSessionTaskDelegate)?
    let dataDelegate: (any URLSessionDataDelegate)?
    let downloadDelegate: (any URLSessionDownloadDelegate)?
    let streamDelegate: (any URLSessionStreamDelegate)?
    let webSocketDelegate: (any URLSessionWebSocketDelegate)?

    private let capabilities: DelegateCapabilities
    /// The methods of the protocols that the delegate does not conform to.
    private let notConformed: DelegateMethod

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
            notConformed = [.taskMethods, .dataMethods, .downloadMethods, .streamMethods, .webSocketMethods]
            return
        }
        dataDelegate = taskDelegate as? any URLSessionDataDelegate
        downloadDelegate = taskDelegate as? any URLSessionDownloadDelegate
        streamDelegate = taskDelegate as? any URLSessionStreamDelegate
        webSocketDelegate = taskDelegate as? any URLSessionWebSocketDelegate
        var notConformed: DelegateMethod = []
        if dataDelegate == nil { notConformed.formUnion(.dataMethods) }
        if downloadDelegate == nil { notConformed.formUnion(.downloadMethods) }
        if streamDelegate == nil { notConformed.formUnion(.streamMethods) }
        if webSocketDelegate == nil { notConformed.formUnion(.webSocketMethods) }
        self.notConformed = notConformed
    }

    /// Whether the delegate is known to implement none of `methods`. False may also mean that they were not called yet.
    @inline(__always)
    package func lacks(_ methods: DelegateMethod) -> Bool {
        capabilities.missing.union(notConformed).isSuperset(of: methods)
    }

    /// Calls a method without a reply. False if the delegate does not implement it.
    @inline(__always)
    func deliver(_ method: DelegateMethod, _ call: () -> Void) -> Bool {
        if lacks(method) { return false }
        call()
        return !lacks(method)
    }

    /// Calls the implemented variant of a method with a reply. False if neither is implemented.
    func ask<Answer: Sendable>(
        _ plain: DelegateMethod, _ asynchronous: DelegateMethod, reply: @escaping @Sendable (Answer) -> Void,
        call: (@escaping @Sendable (Answer) -> Void) -> Void, await asyncCall: @escaping @Sendable () async -> Answer
    ) -> Bool {
        if !lacks(plain) {
            let reply = SingleReply(reply)
            call { [self] value in
                // Default implementations reply too, for programs that call them. Such a reply is ignored here.
                if !lacks(plain) { reply.send(value) }
            }
            if !lacks(plain) { return true }
        }
        if lacks(asynchronous) { return false }
        Task.immediate { [self] in
            let value = await asyncCall()
            if !lacks(asynchronous) { reply(value) }
        }
        // The default implementation never suspends, so it has already returned.
        return !lacks(asynchronous)
    }
}

/// Passes on the first reply and ignores further ones.
private final class SingleReply<Answer: Sendable>: Sendable {
    private let isSent = Atomic<Bool>(false)
    private let reply: @Sendable (Answer) -> Void

    init(_ reply: @escaping @Sendable (Answer) -> Void) { self.reply = reply }

    func send(_ answer: Answer) {
        if !isSent.exchange(true, ordering: .relaxed) { reply(answer) }
    }
}
