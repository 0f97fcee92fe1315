@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ argumentCount: UnsafeMutablePointer<Int32>, _ arguments: UnsafeMutablePointer<UnsafeMutableRawPointer>,
    _ test: @convention(c) (UnsafePointer<UInt8>, Int) -> Int32
) -> Int32

/// Runs the fuzzer with the arguments of the program, and gives its exit status.
package func runFuzzer(
    _ argumentCount: Int32, _ arguments: UnsafeMutableRawPointer,
    _ test: @convention(c) (UnsafePointer<UInt8>, Int) -> Int32
) -> Int32 {
    var argumentCount = argumentCount
    var arguments = arguments
    return runDriver(&argumentCount, &arguments, test)
}
