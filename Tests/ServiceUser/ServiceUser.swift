internal import BackgroundTransfers
internal import FoundationEssentials
internal import Glibc
internal import LoadingPipeline
internal import LoadingStorage
internal import URLLoading

/// Connects to the service of the place that the environment names, and starts it if necessary: with its own executable, or with the
/// program that is its second argument.
///
///     service-user once [PROGRAM]    says the process id of the service
///     service-user hold [PROGRAM]    the same, and stays connected until it is killed
///     service-user serve             is the service
///
/// On standard output: "service PID", or "failed REASON".
@main enum ServiceUser {
    static func main() {
        let words = CommandLine.arguments.dropFirst()
        guard let command = words.first else { exit(64) }
        if command == "serve" { BackgroundService.run(nil) }
        do {
            let program = words.dropFirst().first.map { ServiceProgram.installed($0) } ?? .own
            let descriptor = try ServiceStart.connect(to: ServicePlace(), starting: program)
            say("service \(try greet(descriptor))")
            while command == "hold" { pause() }
        } catch {
            say("failed \(error)")
            exit(1)
        }
    }

    private static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        write(STDOUT_FILENO, bytes, bytes.count)
    }

    private struct Ended: Error {}

    /// Returns the process id in the service's reply.
    private static func greet(_ descriptor: Int32) throws -> Int32 {
        var hello = Data()
        MessageFrames.append(
            try TransferMessage(ServiceCommand.hello(ServiceHello(application: nil))).encoded(), to: &hello)
        guard hello.withUnsafeBytes({ send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL.rawValue)) }) == hello.count
        else { throw Ended() }
        var frames = MessageFrames()
        while true {
            var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&ready, 1, 30_000) == 1 else { throw Ended() }
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = read(descriptor, &bytes, bytes.count)
            guard count > 0 else { throw Ended() }
            bytes.withUnsafeBytes { frames.append(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            if let content = try frames.next() {
                guard case .welcome(let welcome) = try TransferMessage<ServiceNotice>(decoding: content).content else {
                    throw Ended()
                }
                return welcome.process
            }
        }
    }
}
