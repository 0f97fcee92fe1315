public let revisionOfGenerating = 1

/// A number that a program of this package gives to the compiler.
@freestanding(expression) public macro answer() -> Int = #externalMacro(module: "Macros", type: "Answer")

public func answerOfGenerating() -> Int { #answer }
